"""Whether an edit, of whatever rows and by whatever page, locks its author or all other staff out of the admin.

before = edit_check.look(request)
...                                        # save, restore or import
edit_check.caused(before, request)         # what to ask before the transaction is committed
"""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.http import HttpRequest
from django.utils.translation import gettext

from ratewindow.conf import time_zone
from ratewindow.limiter.rates import parse_rates
from ratewindow.models import Mode, Override, RateRule, RuleWindow
from ratewindow.operations import lockout, staff
from ratewindow.operations.lockout import Lockout
from ratewindow.overrides import ALLOW, BLOCK, RATE, Ruling
from ratewindow.overrides.subjects import Subject, read_subject
from ratewindow.rulebook import rule_rows
from ratewindow.rules.matching import Index
from ratewindow.rules.rule import Rule


@dataclass(frozen=True)
class StaffBlock:
    """A block that refuses the author of an edit, or all other staff, in the admin."""

    override: Override
    others: bool

    def __str__(self) -> str:
        if self.others:
            return gettext("This block refuses all other staff in the admin.")
        return gettext("This block refuses you in the admin.")


Row = tuple[dict[str, Any], list[dict[str, Any]]]  # the columns of a rule, and those of its limits


@dataclass(frozen=True)
class Before:
    """What held before an edit: the enforced rules by name, and the exemptions of its author."""

    rules: dict[str, Row]
    exempting: dict[int, str]  # their primary keys, with the rule from which each exempts; empty for all
    began: datetime


def look(request: HttpRequest) -> Before:
    """Read what `caused` compares with."""
    exempting = {pk: rule for rule, pks in lockout.exemptions(request).items() for pk in pks}
    return Before(_enforced(), exempting, time_zone.now())


def caused(before: Before, request: HttpRequest) -> list[Lockout | StaffBlock]:
    """The lockouts of the rows as they are saved now that were none before."""
    rows, ended = _enforced(), _ended(before)
    edited = rows if ended else {name: row for name, row in rows.items() if before.rules.get(name) != row}
    found = lockout.lockouts(_frozen(edited.values()), request, ended)
    known = [*_frozen(before.rules[each.rule.name] for each in found if each.rule.name in before.rules)]
    earlier = {each.rule.name: each for each in lockout.lockouts(known, request)} if known else {}
    new = [each for each in found if not each.same_as(earlier.get(each.rule.name))]
    return [*new, *_by_overrides(before, rows, request)]


def _enforced() -> dict[str, Row]:
    """The enforced rules by name, as they are stored: to freeze a thousand takes long, and few have changed."""
    rules = RateRule.objects.filter(mode=Mode.ENFORCE)
    limits: dict[int, list[dict[str, Any]]] = {}
    for limit in RuleWindow.objects.filter(rule__in=rules).order_by("pk").values():
        limits.setdefault(limit["rule_id"], []).append({**limit})
    return {rule["name"]: ({**rule}, limits.get(rule["id"], [])) for rule in rules.values()}


def _frozen(rows: Iterable[Row]) -> Iterator[Rule]:
    for rule, limits in rows:
        with suppress(Exception):  # an invalid row, which raw SQL or a newer version has written, limits nobody
            yield rule_rows.freeze(RateRule(**rule), tuple(RuleWindow(**limit).freeze() for limit in limits))


def _ended(before: Before) -> set[int]:
    """The exemptions that hold no longer, or for another rule."""
    if not before.exempting:
        return set()
    rows = Override.objects.get_queryset().in_force().filter(pk__in=list(before.exempting), action=ALLOW)
    held = {pk for pk, rule in rows.values_list("pk", "rule") if rule in ("", before.exempting[pk])}
    return before.exempting.keys() - held


def _by_overrides(before: Before, rows: dict[str, Row], request: HttpRequest) -> Iterator[Lockout | StaffBlock]:
    """The lockouts by blocks and other rates that were saved since."""
    saved = Override.objects.get_queryset().not_ended().filter(changed_at__gte=before.began, action__in=[BLOCK, RATE])
    subjects = {row: subject for row in saved if (subject := _subject(row))}
    if not subjects:
        return
    visits = list(lockout.visits(request))
    own = staff.reaching(request, visits, [(subject, Ruling(row.action, pk=row.pk)) for row, subject in subjects.items()])
    exempting, rules = lockout.exemptions(request), list(_frozen(rows.values()))
    for row, subject in subjects.items():
        others = row.pk not in own and staff.reach_all_others(request, [subject])
        met = [rule for rule in rules if row.rule in ("", rule.name)]
        if not (others or row.pk in own):
            continue
        if row.action == RATE:
            limited = [rule.with_windows(tuple(parse_rates(row.rate))) for rule in met]
            for each in lockout.lockouts(limited, None if others else request):
                yield replace(each, others=each.others or others, rate=row.rate)
        elif (others or not exempting.keys() & {"", row.rule}) and _refuses(row, met, visits):
            yield StaffBlock(row, others)


def _refuses(block: Override, rules: list[Rule], visits: list[HttpRequest]) -> bool:
    """Whether a block holds in the admin: one of a rule only where that rule is met."""
    return not block.rule or any(Index(rules).match(visit) for visit in visits)


def _subject(row: Override) -> Subject | None:
    try:
        return read_subject(row.identity)
    except ValueError:  # an invalid row, which applies to nobody
        return None
