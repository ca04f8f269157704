"""Plain values as unsaved rows with every check of the forms, and what is wrong with values that cannot be rows.

Each problem says where it is, with the value and the remedy: ``rules[2] "login": limits[0].period: ...``. All problems of
a document are found at once.
"""

import difflib
from collections.abc import Collection, Iterator, Mapping
from datetime import datetime
from itertools import islice
from typing import Any, NamedTuple, TypeVar

from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.db import connections, models, router
from django.utils.text import format_lazy
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from ratewindow.conf.translation import translated
from ratewindow.limiter.durations import EXAMPLES
from ratewindow.limiter.problem import Problem
from ratewindow.limiter.types import MOST_WINDOWS, too_much
from ratewindow.models import LimitSwitch, Override, RateRule, RuleWindow
from ratewindow.models.fields import PeriodField
from ratewindow.models.overrides import HAS_PASSED
from ratewindow.operations.documents.values import fields

MOST_SHOWN = 20  # problems
MOST_FOUND = 200  # of them; the rest of a document with so many is not looked at


class DocumentError(ValueError):
    """What is wrong with a document, or with a part of it."""

    def __init__(self, problems: Collection[str]) -> None:
        self.problems = tuple(problems)
        more = len(self.problems) - MOST_SHOWN
        rest = [ngettext("... and %d more.", "... and %d more.", more) % more] if more > 0 else []
        super().__init__("\n".join([*self.problems[:MOST_SHOWN], *rest]))


class ParsedRule(NamedTuple):
    """A rule and its limits, not saved."""

    rule: RateRule
    windows: tuple[RuleWindow, ...]


def parse_rule(values: Any, where: str = "") -> ParsedRule:
    """The rule and its limits; `where` begins each problem. Raises DocumentError."""
    problems: list[str] = []
    name = values.get("name") if isinstance(values, Mapping) else None
    if isinstance(name, str) and name:
        where = f'{where} "{name[:64]}"'.strip()
    prefix = f"{where}: " if where else ""
    rule = _row(RateRule, values, prefix, problems, also=("limits",))
    windows = _windows(values, prefix, problems) if isinstance(values, Mapping) else ()
    if problems:
        raise DocumentError(problems)
    return ParsedRule(rule, windows)


def parse_override(values: Any, where: str = "") -> Override:
    """The block, exemption or other rate, also one that has ended; its identity as it is stored. Raises DocumentError."""
    override = _alone(Override, values, where)
    override.identity = Override._meta.get_field("identity").get_prep_value(override.identity)
    return override


def parse_switch(values: Any, where: str = "") -> LimitSwitch:
    """The kill switch, without the time and the author of the change. Raises DocumentError."""
    return _alone(LimitSwitch, values, where)


def check_keys(values: Any, known: Collection[str], prefix: str, problems: list[str]) -> bool:
    """Whether it is a mapping; adds a problem for each unknown key, with the nearest known one."""
    if not isinstance(values, Mapping):
        text = gettext("%(value)s has no fields: write its fields, such as %(field)s.")
        problem = text % {"value": _shown(values), "field": next(iter(known))}
        problems.append(f"{prefix.rstrip(_ENDS)}: {problem}".removeprefix(": "))
        return False
    for key in islice((str(key)[:64] for key in values if key not in known), MOST_FOUND):
        near = difflib.get_close_matches(key, known, n=1, cutoff=0.5)
        text = gettext("there is no such field: write one of %s.") % ", ".join(known)
        if near:
            text = gettext("there is no such field: did you mean %s?") % near[0]
        problems.append(f"{prefix}{key}: {text}")
    return True


_ENDS = ".: "  # between a place and a field

Row = TypeVar("Row", bound=models.Model)


def _alone(model: type[Row], values: Any, where: str) -> Row:
    problems: list[str] = []
    row = _row(model, values, f"{where}: " if where else "", problems)
    if problems:
        raise DocumentError(problems)
    return row


def _windows(values: Mapping[str, Any], prefix: str, problems: list[str]) -> tuple[RuleWindow, ...]:
    listed = values.get("limits")
    if not isinstance(listed, list):
        text = gettext("this is missing: write for example %(example)s.")
        if "limits" in values:
            text = gettext("%(value)s is not a list: write for example %(example)s.")
        problem = text % {"value": _shown(listed), "example": "[{limit: 5, period: 1m}]"}
        problems.append(f"{prefix}limits: {problem}")
        return ()
    if len(listed) > MOST_WINDOWS:
        problem = translated(Problem("{count} limits, of at most {most}", count=len(listed), most=MOST_WINDOWS))
        problems.append(f"{prefix}limits: {gettext('the rule has %s: give it fewer.') % problem}")
        return ()
    before = len(problems)
    windows = tuple(_row(RuleWindow, each, f"{prefix}limits[{index}].", problems) for index, each in enumerate(listed))
    if len(problems) > before:
        return ()
    seen: set[tuple[Any, str]] = set()
    for index, window in enumerate(windows):
        if (window.period, window.algorithm) in seen:
            text = gettext("%(limit)s by %(algorithm)s is a second limit for this period: keep one.")
            problems.append(f"{prefix}limits[{index}]: {text % {'limit': window, 'algorithm': window.algorithm}}")
        seen.add((window.period, window.algorithm))
    if too_many := too_much(tuple(window.freeze() for window in windows)):
        text = gettext("the rule has %s: give it fewer.") % translated(too_many)
        problems.append(f"{prefix}limits: {text}")
    return windows


def _row(model: type[Row], values: Any, prefix: str, problems: list[str], also: tuple[str, ...] = ()) -> Row:
    """The row, checked; what is wrong is added to `problems`."""
    row, columns = model(), {field.name: field for field in fields(model)}
    if not check_keys(values, (*columns, *also), prefix, problems):
        return row
    wrong = set()
    for name, field in columns.items():
        try:
            setattr(row, name, _typed(field, values[name]) if name in values else _default(field))
        except ValueError as error:
            wrong.add(name)
            problems.append(f"{prefix}{name}: {error}")
    try:
        row.full_clean(
            exclude={each.name for each in model._meta.fields if each.name not in columns or each.name in wrong},
            validate_unique=False,  # the row may replace one that exists
            validate_constraints=False,
        )
    except ValidationError as error:
        problems += [f"{prefix}{sentence}" for sentence in _sentences(error, values, wrong)]
    return row


def _sentences(error: ValidationError, values: Mapping[str, Any], wrong: Collection[str]) -> Iterator[str]:
    for name, errors in error.error_dict.items():
        for each in errors:
            if name in wrong or each.code == HAS_PASSED:  # reported; harmless, and part of what once was
                continue
            for message in each.messages:
                value = str(values[name])[:64] if name in values else ""
                quoted = f"{_shown(values[name])}: " if value and value not in message else ""
                yield f"{quoted}{message}" if name == NON_FIELD_ERRORS else f"{name}: {quoted}{message}"


def _default(field: "models.Field[Any, Any]") -> Any:
    if not field.has_default() and not field.blank:
        raise ValueError(gettext("this is missing: write %s.") % _WANTED.get(type(field), _("a value")))
    return field.get_default()


_BOOLEAN, _NUMBER = _("true or false"), _("a whole number such as 5")
_DURATION = format_lazy(_("a duration such as {examples}"), examples=_(EXAMPLES))
_TEXT = _("a text, in quotes if it looks like a number or like true")
_WANTED = {PeriodField: _DURATION, models.BooleanField: _BOOLEAN, models.PositiveBigIntegerField: _NUMBER}


def _typed(field: "models.Field[Any, Any]", value: Any) -> Any:
    """The value, if it has the type of the field. Raises ValueError."""
    if value is None:
        if field.null:
            return None
        raise ValueError(gettext("null is no value here: leave this line out for the default."))
    if isinstance(field, models.BooleanField):
        return _of_type(value, isinstance(value, bool), _BOOLEAN)
    if isinstance(field, models.IntegerField):
        return _of_type(value, isinstance(value, int) and not isinstance(value, bool), _NUMBER)
    if isinstance(field, PeriodField):
        return _of_type(value, isinstance(value, str) and bool(value.strip()), _DURATION)
    if isinstance(field, models.DateTimeField):
        return _moment(value)
    if field.choices:
        known = [str(choice) for choice, __ in field.flatchoices]
        wanted = ", ".join(filter(None, known))
        if "" in known:
            wanted = gettext("%s, or an empty text") % wanted
        return _of_type(value, value in known, wanted)
    return _text(_of_type(value, isinstance(value, str), _TEXT))


def _of_type(value: Any, is_right: bool, wanted: object) -> Any:
    if not is_right:
        text = gettext("%(value)s cannot be used here: write %(wanted)s.")
        raise ValueError(text % {"value": _shown(value), "wanted": wanted})
    return value


def _moment(value: Any) -> datetime:
    try:
        moment = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        raise ValueError(gettext("%s is not a time: write for example 2026-01-31T12:00:00Z.") % _shown(value)) from None
    if moment.tzinfo is None:
        text = gettext("%(value)s has no time zone: write it in UTC, such as %(example)s.")
        raise ValueError(text % {"value": _shown(value), "example": f"{moment.isoformat()}Z"})
    return moment


def _text(value: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        text = gettext("%s has half a character, which cannot be stored: remove it.")
        raise ValueError(text % _shown(value)) from None
    database = connections[router.db_for_write(RateRule)]
    if "\0" in value and database.features.prohibits_null_characters_in_text_exception:
        raise ValueError(gettext("%s has a NUL, which this database cannot store: remove it.") % _shown(value))
    return value


def _shown(value: Any) -> str:
    """As the document has it: ``false``, ``null``, ``'1 monat'``; shortened."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, dict | list):
        return gettext("a list of fields") if isinstance(value, dict) else gettext("a list")
    text = repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= 64 else f"{text[:60]}..."
