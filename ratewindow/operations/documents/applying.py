"""Change the site to what a document says: all of it or nothing, and only rows that differ."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.db import connections, models, router, transaction
from django.utils.translation import gettext

from ratewindow.conf.translation import translated
from ratewindow.models import LimitSwitch, Override, RateRule
from ratewindow.operations import switch_off
from ratewindow.operations.documents import site as sites
from ratewindow.operations.documents.differences import OVERRIDE, RULE, SWITCH, Change, difference, paired, subject_of
from ratewindow.operations.documents.parsing import (
    MOST_FOUND,
    DocumentError,
    ParsedRule,
    parse_override,
    parse_rule,
    parse_switch,
)
from ratewindow.operations.documents.site import Document, in_one_line
from ratewindow.operations.documents.values import Values, fields, of_override, of_rule, of_switch
from ratewindow.overrides.subjects import parse_subject, stored_forms
from ratewindow.rules.kill_switch import Switch
from ratewindow.rules.regex import check_room


class SiteChanged(Exception):
    """The site is no longer as it was when the changes were shown; nothing was changed."""


@dataclass(frozen=True)
class Author:
    """Who applies a document: the `source` and author of overrides that it adds, and who turns the switch."""

    source: str = "command"
    user: Any = None
    name: str = ""


def preview(document: Document, *, exact: bool = False, only: Collection[str] | None = None) -> tuple[Change, ...]:
    """What `apply` with the same arguments would change. Raises DocumentError."""
    return tuple(step.change for step in _steps(document, exact, only, Author()))


def apply(
    document: Document,
    *,
    exact: bool = False,
    only: Collection[str] | None = None,
    author: Author = Author(),
    expected: Sequence[Change] | None = None,
) -> tuple[Change, ...]:
    """Add and change what the document has, and return what that was. Raises DocumentError, before anything is changed.

    If `exact`, what its sections lack is deleted. With `only`, nothing but the rules of these names is concerned. If other
    changes would be made than were `expected`, SiteChanged is raised. An override that stays keeps its row.
    """
    with transaction.atomic(using=router.db_for_write(RateRule)):
        wait_for_others(document)
        steps = list(_steps(document, exact, only, author))
        changes = tuple(step.change for step in steps)
        if expected is not None and list(changes) != list(expected):
            raise SiteChanged
        for step in steps:
            step.carry_out()
    return changes


@dataclass(frozen=True)
class _Step:
    change: Change
    carry_out: Callable[[], object]


def _database() -> str:
    """Where rows are written: a replica might not have the last ones yet."""
    return router.db_for_write(RateRule)


def wait_for_others(document: Document) -> None:
    """Until this transaction ends nobody else changes these rows."""
    connection = connections[_database()]
    if connection.vendor == "postgresql":  # locks of rows would let another add the same ones
        with connection.cursor() as cursor:
            for model in (RateRule, *([Override] if "overrides" in document else [])):
                table = connection.ops.quote_name(model._meta.db_table)
                cursor.execute(f"LOCK TABLE {table} IN SHARE ROW EXCLUSIVE MODE")
        return
    RateRule.objects.using(_database()).filter(pk=-1).update(cost=1)  # SQLite's only lock is taken by writing
    list(RateRule.objects.using(_database()).select_for_update().values_list("pk"))


def _steps(document: Document, exact: bool, only: Collection[str] | None, author: Author) -> Iterator[_Step]:
    """All steps; reads and checks everything before the first."""
    sites.check(document)
    problems: list[str] = []
    found: list[_Step] = []
    if "rules" in document:
        found += _rule_steps(document["rules"], exact, only, problems)
    if "overrides" in document and only is None:
        found += _override_steps(document["overrides"], exact, author, problems)
    if "switch" in document and only is None:
        found += _switch_steps(document["switch"], author, problems)
    if problems:
        raise DocumentError(problems)
    return iter(found)


def _rule_steps(listed: list[Any], exact: bool, only: Collection[str] | None, problems: list[str]) -> Iterator[_Step]:
    rows = {row.name: row for row in RateRule.objects.using(_database()).prefetch_related("windows")}
    before = {name: of_rule(row) for name, row in rows.items()}
    after: dict[str, tuple[Values, ParsedRule | None]] = {}
    checked: dict[str, RateRule] = {}
    for index, values in enumerate(listed):
        if len(problems) >= MOST_FOUND:
            break
        name = values.get("name") if isinstance(values, dict) else None
        if only is not None and name not in only:
            continue
        if isinstance(name, str) and name in after:
            text = gettext("this name occurs twice: keep one of them.")
            problems.append(f'rules[{index}] "{name[:64]}": {text}')
        elif isinstance(name, str) and before.get(name) == values:
            after[name] = values, None
        else:
            with _collecting(problems):
                parsed = parse_rule(values, f"rules[{index}]")
                checked[f"rules[{index}]"] = parsed.rule
                after[parsed.rule.name] = of_rule(*parsed), parsed
    removed = [name for name in before if exact and name not in after and (only is None or name in only)]
    regexes = {name: row.pattern for name, row in rows.items() if row.applies_to == "regex" and name not in removed}
    problems += _without_room(regexes, checked)
    for name in sorted({*after, *removed}):
        values, wanted = after.get(name, (None, None))
        if change := difference(RULE, before.get(name), values):
            yield _Step(change, _rule_work(rows.get(name), wanted))


def _without_room(regexes: dict[str, str], checked: Mapping[str, RateRule]) -> Iterator[str]:
    """A problem for each expression of the document, by place, that has no room beside those before it and those that stay.

    `regexes` are the stored ones by rule, and become those of the site afterwards.
    """
    changed = {
        where: rule
        for where, rule in checked.items()
        if regexes.get(rule.name) != (rule.pattern if rule.applies_to == "regex" else None)
    }
    for rule in changed.values():
        regexes.pop(rule.name, None)
    for where, rule in changed.items():
        if rule.applies_to == "regex" and rule.pattern not in regexes.values():
            try:
                check_room(rule.pattern, regexes.values())
            except ValueError as error:
                yield f'{where} "{rule.name}": pattern: {translated(error)}'
            else:
                regexes[rule.name] = rule.pattern


def _rule_work(row: RateRule | None, parsed: ParsedRule | None) -> Callable[[], object]:
    if row is None:
        assert parsed is not None
        return partial(_add_rule, parsed)
    return row.delete if parsed is None else partial(_change_rule, row, parsed)


def _add_rule(parsed: ParsedRule) -> None:
    parsed.rule.save(force_insert=True)
    for window in parsed.windows:
        window.rule = parsed.rule
        window.save(force_insert=True)


def _change_rule(row: RateRule, parsed: ParsedRule) -> None:
    change_row(row, parsed.rule)
    left = {(window.period, window.algorithm): window for window in row.windows.all()}
    for window in parsed.windows:
        if old := left.pop((window.period, window.algorithm), None):
            change_row(old, window)
        else:
            window.rule = row
            window.save(force_insert=True)
    for window in left.values():
        window.delete()


def change_row(row: models.Model, wanted: models.Model) -> None:
    """Give a row the fields of another, and save those that differ, if there are any."""
    changed = [field.attname for field in fields(type(row)) if getattr(row, field.attname) != getattr(wanted, field.attname)]
    for name in changed:
        setattr(row, name, getattr(wanted, name))
    if changed:
        row.save(update_fields=changed)


def _override_steps(listed: list[Any], exact: bool, author: Author, problems: list[str]) -> Iterator[_Step]:
    before = [(of_override(row), row) for row in _overrides(listed, exact)]
    rows = {id(values): row for values, row in before}
    lines, subjects = {in_one_line(values) for values, _ in before}, {subject_of(values) for values, _ in before}
    after, parsed = [], {}
    for index, values in enumerate(listed):
        if len(problems) >= MOST_FOUND:
            break
        if isinstance(values, dict) and in_one_line(values) in lines:
            after.append(values)
            continue
        with _collecting(problems):
            override = parse_override(values, f"overrides[{index}]")
            for form in _forms(values):  # an existing one may be stored as it was written under another ANONYMIZE
                if (override.action, form, override.rule) in subjects:
                    override.identity = form
            after.append(of_override(override))
            parsed[id(after[-1])] = override
    for old, new in paired((values for values, _ in before), after):
        if (new is not None or exact) and (change := difference(OVERRIDE, old, new)):
            yield _Step(change, _override_work(rows.get(id(old)), parsed.get(id(new)), author))


def _overrides(listed: list[Any], exact: bool) -> Iterator[Override]:
    """Those that the document may change; if `exact`, it may change all."""
    rows = Override.objects.using(_database())
    if exact:
        yield from rows.all()
        return
    texts = sorted({form for values in listed if isinstance(values, dict) for form in _forms(values)})
    for begin in range(0, len(texts), _BATCH):  # as expressions, since the field would rewrite each into its form of today
        forms = [models.Value(text, models.CharField()) for text in texts[begin : begin + _BATCH]]
        yield from rows.filter(identity__in=forms)


_BATCH = 500


def _forms(values: Values) -> set[str]:
    """Every text by which the identity of an override may be stored."""
    with suppress(ValueError, AttributeError, KeyError):
        return stored_forms(parse_subject(values["identity"]))
    return set()


def _override_work(row: Override | None, wanted: Override | None, author: Author) -> Callable[[], object]:
    if row is None:
        assert wanted is not None
        wanted.source, wanted.created_by = author.source, author.user
        return partial(wanted.save, force_insert=True)
    return row.delete if wanted is None else partial(change_row, row, wanted)


def _switch_steps(values: Any, author: Author, problems: list[str]) -> list[_Step]:
    before = of_switch(sites.switch_row() or LimitSwitch())
    with _collecting(problems):
        wanted = parse_switch(values, "switch")
        if change := difference(SWITCH, before, of_switch(wanted)):
            until_s = wanted.until.timestamp() if wanted.until else None
            turned = Switch(wanted.off, until_s, wanted.reason, author.name)
            return [_Step(change, partial(switch_off.turn_on_commit, turned))]
    return []


@contextmanager
def _collecting(problems: list[str]) -> Iterator[None]:
    try:
        yield
    except DocumentError as error:
        problems += error.problems
