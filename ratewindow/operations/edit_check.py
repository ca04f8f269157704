"""Whether an edit, of whatever rows and by whatever page, locks its author or all other staff out of the admin.

before = edit_check.look(request)
...                                        # save, restore or import
edit_check.caused(before, request)         # what to ask before the transaction is committed
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from django.http import HttpRequest

from ratewindow.conf import time_zone
from ratewindow.limiter.rates import parse_rates
from ratewindow.models import Override
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
        return "This block refuses all other staff in the admin." if self.others else "This block refuses you in the admin."


@dataclass(frozen=True)
class Before:
    """What held before an edit: the enforced rules by name, and the exemptions of its author."""

    rules: dict[str, Rule]
    exempting: dict[int, str]  # their primary keys, with the rule from which each exempts; empty for all
    began: datetime


def look(request: HttpRequest) -> Before:
    """Read what `caused` compares with."""
    exempting = {pk: rule for rule, pks in lockout.exemptions(request).items() for pk in pks}
    return Before(_enforced(), exempting, time_zone.now())


def caused(before: Before, request: HttpRequest) -> list[Lockout | StaffBlock]:
    """The lockouts of the rows as they are saved now that were none before."""
    rules = _enforced()
    ended = _ended(before)
    edited = rules.values() if ended else [rule for name, rule in rules.items() if before.rules.get(name) != rule]
    found = lockout.lockouts(edited, request, ended)
    known = [before.rules[each.rule.name] for each in found if each.rule.name in before.rules]
    earlier = {each.rule.name: each for each in lockout.lockouts(known, request)} if known else {}
    new = [each for each in found if not each.same_as(earlier.get(each.rule.name))]
    return [*new, *_by_overrides(before, rules, request)]


def _enforced() -> dict[str, Rule]:
    return {rule.name: rule for _, rule in rule_rows.readings() if isinstance(rule, Rule) and rule.mode == "enforce"}


def _ended(before: Before) -> set[int]:
    """The exemptions that hold no longer, or for another rule."""
    if not before.exempting:
        return set()
    rows = Override.objects.get_queryset().in_force().filter(pk__in=list(before.exempting), action=ALLOW)
    held = {pk for pk, rule in rows.values_list("pk", "rule") if rule in ("", before.exempting[pk])}
    return before.exempting.keys() - held


def _by_overrides(before: Before, rules: dict[str, Rule], request: HttpRequest) -> Iterator[Lockout | StaffBlock]:
    """The lockouts by blocks and other rates that were saved since."""
    rows = Override.objects.get_queryset().not_ended().filter(changed_at__gte=before.began, action__in=[BLOCK, RATE])
    subjects = {row: subject for row in rows if (subject := _subject(row))}
    if not subjects:
        return
    visits = list(lockout.visits(request))
    own = staff.reaching(request, visits, [(subject, Ruling(row.action, pk=row.pk)) for row, subject in subjects.items()])
    exempting = lockout.exemptions(request)
    for row, subject in subjects.items():
        others = row.pk not in own and staff.reach_all_others(request, [subject])
        met = [rule for rule in rules.values() if row.rule in ("", rule.name)]
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
