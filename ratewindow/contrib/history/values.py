"""A rule, a block or the switch as plain values, and back: text, numbers, booleans and lists. Changes of several are made
all or none: those of a file, or back to what was before an edit.

A field that has its default is left out, so values show what somebody has decided. Primary keys and what the program fills in
are no part of them: a rule is known by its name.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.db import IntegrityError, models, transaction
from django.utils.translation import gettext

from ratewindow.conf.in_words import translated
from ratewindow.contrib.history.models import Edit
from ratewindow.limiter.types import MOST_WINDOWS, too_much
from ratewindow.models import LimitSwitch, Override, RateRule, RuleWindow, origin
from ratewindow.models.fields import to_text
from ratewindow.operations import switch_off
from ratewindow.rulebook.kill_switch import Switch
from ratewindow.rulebook.reading import database

Values = dict[str, Any]

MODELS: dict[str, type[models.Model]] = {
    Edit.Kind.RULE: RateRule,
    Edit.Kind.OVERRIDE: Override,
    Edit.Kind.SWITCH: LimitSwitch,
}
_SUBJECTS: dict[str, str] = {Edit.Kind.RULE: "name", Edit.Kind.OVERRIDE: "pk"}  # the column that an edit names the row by
_ALWAYS = {  # written also if they have their default: without them a reader would have to guess
    RateRule: ("name", "mode", "applies_to", "key"),
    RuleWindow: ("limit", "period", "algorithm"),
    Override: ("action", "identity"),
    LimitSwitch: ("off",),
}
_NEVER = {  # how the row came to be, not what it does
    RateRule: ("id", "mode_since"),
    RuleWindow: ("id", "rule"),
    Override: ("id", "source", "created_by", "created_at"),
    LimitSwitch: ("id", "changed_by", "changed_at"),
}


class InvalidValues(ValueError):
    """Values that cannot be saved; each problem says where it is: ``rules[2] limits[0] period: ...``."""

    def __init__(self, problems: list[str]) -> None:
        self.problems = problems
        super().__init__("\n".join(problems))


def read(kind: str, subject: str, using: str, lock: bool = False) -> Values | None:
    """The values of a subject in the database; None if it is not there. `lock` makes concurrent edits of it wait."""
    return _values_of(kind, _row(kind, subject, using, lock))


def _row(kind: str, subject: str, using: str, lock: bool) -> Any:
    rows: models.QuerySet[Any] = MODELS[kind]._base_manager.using(using)
    rows = rows.filter(**{_SUBJECTS[kind]: subject}) if kind in _SUBJECTS else rows.order_by("-changed_at")
    return (rows.select_for_update() if lock else rows).first()


def _values_of(kind: str, row: Any) -> Values | None:
    if row is None:
        return of_row(LimitSwitch()) if kind == Edit.Kind.SWITCH else None  # limits are on until somebody switches them off
    return of_rule(row) if kind == Edit.Kind.RULE else of_row(row)


def of_rule(rule: RateRule, windows: Iterable[RuleWindow] | None = None) -> Values:
    """The rule with its `windows`, by default those that are saved, as ``limits`` in the order of their periods."""
    limits = rule.windows.all() if windows is None else windows
    return {**of_row(rule), "limits": [of_row(each) for each in sorted(limits, key=lambda each: (each.period, each.algorithm))]}


def of_row(row: models.Model) -> Values:
    always = _ALWAYS[type(row)]
    values = ((field, getattr(row, field.attname)) for field in fields(type(row)))
    return {field.name: plain(value) for field, value in values if field.name in always or value != field.get_default()}


def fields(model: type[models.Model]) -> "list[models.Field[Any, Any]]":
    return [field for field in model._meta.concrete_fields if field.name not in _NEVER[model]]


def plain(value: Any) -> Any:
    """A duration as ``2h30m``, a time in UTC as ``2026-01-31T12:00:00Z``."""
    if isinstance(value, models.Choices):
        return value.value
    if isinstance(value, timedelta):
        return to_text(value)
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    return value


def rule_of(values: Any, place: str = "", row: RateRule | None = None) -> tuple[RateRule, list[RuleWindow]]:
    """The rule, in its `row` if it has one, and its limits, checked and not saved; `place` begins each problem.

    Raises InvalidValues.
    """
    rule, windows = row or RateRule(), list[RuleWindow]()
    problems = fill(rule, values, place, also="limits")
    limits = values.get("limits") if isinstance(values, dict) else None
    if isinstance(limits, list) and len(limits) <= MOST_WINDOWS:
        windows = [RuleWindow() for _ in limits]
    else:
        problems.append(
            gettext("%(rule)s limits: write a list such as [{limit: 5, period: 1m}], of at most %(most)d.")
            % {"rule": place, "most": MOST_WINDOWS}
        )
    for index, window in enumerate(windows):
        problems += fill(window, limits[index], f"{place} limits[{index}]")  # type: ignore[index]
    if not problems and len({(window.period, window.algorithm) for window in windows}) < len(windows):
        problems.append(f"{place} limits: {gettext('two of them are for one period by one algorithm: keep one.')}")
    if not problems and (too_many := too_much(tuple(window.freeze() for window in windows))):
        problems.append(f"{place} limits: {gettext('the rule has %s: give it fewer.') % translated(too_many)}")
    if problems:
        raise InvalidValues([problem.lstrip() for problem in problems])
    return rule, windows


def fill(row: models.Model, values: Any, place: str = "", also: str = "") -> list[str]:
    """Give the row these values, checked as by its form; returns what is wrong with them. `also` is a key that is no field."""
    if not isinstance(values, dict):
        return [gettext("%s: this has no fields: write its fields.") % place]
    columns = {field.name: field for field in fields(type(row))}
    unknown = [str(name)[:64] for name in values if name not in (*columns, also)]
    problems = [f"{place} {name}: {gettext('there is no such field.')}" for name in unknown]
    for name, field in columns.items():
        try:
            setattr(row, name, _checked(field, values.get(name, field.get_default()), row))
        except ValidationError as error:
            problems += (f"{place} {name}: {message}" for message in error.messages)
    if not problems:
        try:
            row.clean()
        except ValidationError as error:
            problems += (f"{place} {name}: {message}" for name, messages in error.message_dict.items() for message in messages)
    return problems


def _checked(field: "models.Field[Any, Any]", value: Any, row: models.Model) -> Any:
    is_odd_bool = isinstance(value, bool) and not isinstance(field, models.BooleanField)  # it would be a number 1, or a text
    if is_odd_bool or not isinstance(value, str | int | None) or "\0" in str(value):
        raise ValidationError(gettext("write a text without NUL, a whole number, true or false."))
    return field.clean(value, row)


class ChangedMeanwhile(Exception):
    """Somebody has edited what the changes are about since they were shown; nothing was changed."""


def undoing(edit: Edit) -> Edit | None:
    """The change that makes the subject of an edit what it was before; None if it is so already."""
    now = read(edit.kind, edit.subject, database())
    return Edit.of(edit.kind, edit.subject, now, edit.before) if now != edit.before else None


def apply(changes: Sequence[Edit]) -> None:
    """Raises ChangedMeanwhile, and InvalidValues for what can no longer be saved."""
    try:
        with transaction.atomic(using=database()):
            for change in sorted(changes, key=lambda each: each.after is not None):  # what is deleted leaves its room
                row = _row(change.kind, change.subject, database(), lock=True)
                if _values_of(change.kind, row) != change.before:
                    raise ChangedMeanwhile
                if change.after is None:
                    row.delete()
                else:
                    _WRITE[change.kind](row, change.subject, change.after)
    except IntegrityError:  # somebody has added the same rule
        raise ChangedMeanwhile from None


def _write_rule(row: RateRule | None, name: str, wanted: Values) -> None:
    rule, windows = rule_of(wanted, name, row)
    try:
        rule.validate_unique()  # a regular expression needs room beside those of other rules
    except ValidationError as error:
        raise InvalidValues([f"{name}: {message}" for message in error.messages]) from None
    rule.save(using=database())
    rule.windows.all().delete()
    for window in windows:
        window.rule = rule
        window.save(using=database())


def _write_override(row: Override | None, pk: str, wanted: Values) -> None:
    """One that was deleted gets its primary key again, so that its history continues."""
    author = origin.current()
    override = row or Override(pk=int(pk), source=author.way, created_by_id=author.user_pk)
    override._state.adding = False  # only of a new one an end that has passed is an error
    if problems := fill(override, wanted):
        raise InvalidValues(problems)
    override.save(using=database(), force_insert=row is None)


def _turn_switch(row: object, subject: str, wanted: Values) -> None:
    switch = LimitSwitch()
    if problems := fill(switch, wanted):
        raise InvalidValues(problems)
    until_s = switch.until.timestamp() if switch.until else None
    turned = Switch(switch.off, until_s, switch.reason, origin.current().by)
    transaction.on_commit(lambda: switch_off.turn(turned), using=database())


_WRITE: dict[str, Callable[[Any, str, Values], None]] = {
    Edit.Kind.RULE: _write_rule,
    Edit.Kind.OVERRIDE: _write_override,
    Edit.Kind.SWITCH: _turn_switch,
}
