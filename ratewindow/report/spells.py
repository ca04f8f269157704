"""What is unusual: times in which a rule refuses much, and whether it refuses nearly everybody.

Unusual is a time in which a rule refuses at least `FEW` requests, over `SHARE` of those that matched it, and over `TIMES` times
as many as usual. Usual is the average of the two weeks before, so it hardly rises by an attack of a day. Until three days are
known it counts as 0.

The gravest is a rule that refuses nearly everybody: a mistake in the rule, not an attack. Of its requests at most a fifth pass,
of several visitors, none of whom sends most; and it was edited when that began, or as many requests match it as before. A rule
that allows nothing, on few of all requests, is meant so. Whether it still goes on is known by the last seconds, as the processes
tell them (`Lately`), sooner than by a minute.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial, reduce
from itertools import chain, pairwise, takewhile
from types import MappingProxyType
from typing import Any

from ratewindow import rooms
from ratewindow.counting.sheets import ALL
from ratewindow.counting.sums import NOBODY, NOTHING, REFUSING, Who, added, estimate, united
from ratewindow.identity.address import is_internal
from ratewindow.models import RateRule
from ratewindow.report.offenders import HowMany, how_many
from ratewindow.report.report import DAY, MINUTE, Report, Waiting, began, between
from ratewindow.rulebook import current
from ratewindow.rules import code_rates

REFUSED, WOULD_REFUSE = REFUSING
FEW, FEW_NOW = 10, 5  # requests, and those of the last seconds
SHARE = 0.05
TIMES = 5
LONGEST, LEAST = 14 * DAY, 3 * DAY  # what is averaged
MOST_GAP = 2  # quiet steps that do not end a spell
PEAK_PART = 10  # a step belongs to a spell if it has at least this part of the largest


def usual(found: Report, now: datetime) -> Report | None:
    """The report of the time before another one; None if too little is known."""
    end = found.period.start
    start = max(began(found.known) or end, end - LONGEST)
    if end - start < LEAST:
        return None
    return Report(between(start, end, now), found.known, found.chosen)


def _usually(before: Report | None, rule: str, outcome: str, length: timedelta) -> float:
    """How many requests a rule usually refuses in a time of that length; 0 if that is not known."""
    if before is None:
        return 0.0
    count: int = getattr(before.rules.get(rule, NOTHING), outcome)
    return count * (length / (before.period.end - before.period.start))


NO_ONE = HowMany(0)


@dataclass(frozen=True)
class Spell:
    """A time in which a rule refused unusually much. `outcome` is one of REFUSING."""

    rule: str
    outcome: str
    start: datetime
    end: datetime
    count: int
    usual: float  # in a time of this length; 0 also if that is not known
    ongoing: bool
    from_start: bool  # at the start of the period, so it may have begun earlier
    met: int = 0  # requests that matched the rule meanwhile
    met_before: float = 0.0  # and in a time of this length before it
    share: float = 0.0  # of the requests that matched it in its full steps
    visitors: HowMany = NO_ONE  # that it refused in its last minutes
    alone: int = 0  # how many of these no other rule refused, about
    count_last: int = 0  # of its last minutes
    everybody: "Everybody | None" = None  # if it refuses nearly everybody
    worst: "Spell | None" = None  # its end, in which most requests are refused


@dataclass(frozen=True)
class Everybody:
    """A rule that refuses nearly everybody: which share of all requests, or of those that match it; and the edit by which it
    does."""

    share: float
    of_all: bool
    edit: rooms.Edited | None


Lately = Mapping[str, Sequence[int]]  # by rule, and of ALL: how many requests passed and were refused in the last seconds
NONE: Lately = MappingProxyType({})  # what is known without a process that tells it


def is_large(count: int, met: int) -> bool:
    """Whether refusals are many among the requests that matched a rule."""
    return count >= FEW and count > SHARE * met


def spells(found: Report, before: Report | None, now: datetime, lately: Lately = NONE) -> list[Spell]:
    """The latest of each rule and outcome; refusals first. Then by whom they hurt: nearly everybody, then those that go on, by
    the visitors of their last minutes that nothing else refuses."""
    latest = (
        _latest(rule, outcome, found, before, now, lately)
        for rule, sums in found.rules.items()
        for outcome in REFUSING
        if getattr(sums, outcome) >= FEW
    )
    return sorted((_with_visitors(spell, found.known, lately, now) for spell in latest if spell is not None), key=_gravity)


def _gravity(spell: Spell) -> tuple[Any, ...]:
    return (
        spell.outcome,
        spell.everybody is None,
        not spell.ongoing,
        -spell.alone,
        -spell.count_last,
        -spell.count,
        spell.rule,
    )


def _latest(rule: str, outcome: str, found: Report, before: Report | None, now: datetime, lately: Lately) -> Spell | None:
    """The last run of steps with many refusals, if it is unusual."""
    period, starts = found.period, [*found.steps, min(found.period.end, now)]
    steps = [found.steps_of_rules.get((start, rule), NOTHING) for start in found.steps]
    counts = [getattr(sums, outcome) for sums in steps]
    level = max(1.0, max(counts) / PEAK_PART, TIMES * _usually(before, rule, outcome, period.step))
    high = [number for number, count in enumerate(counts) if count >= level]
    if not high:
        return None
    begin = max((later for earlier, later in pairwise(high) if later - earlier > MOST_GAP + 1), default=high[0])
    stop = high[-1] + 1
    end = starts[stop]
    is_over = outcome == REFUSED and _has_ended(rule, lately)

    def spell(first: int) -> Spell:
        met, met_earlier = (sum(sums.met for sums in part) for part in (steps[first:stop], steps[:first]))
        start, count = starts[first], sum(counts[first:stop])
        full = slice(first, max(stop - 1, first + 1))  # it may have ended within the last step
        return Spell(
            rule=rule,
            outcome=outcome,
            start=start,
            end=end,
            count=count,
            usual=_usually(before, rule, outcome, end - start),
            ongoing=not is_over and now - end <= max(period.step, MOST_GAP * MINUTE),
            from_start=first == 0,
            met=met,
            met_before=met_earlier * ((end - start) / max(start - period.start, period.step)),
            share=sum(counts[full]) / max(1, sum(sums.met for sums in steps[full])),
        )

    whole = spell(begin)
    if whole.count <= TIMES * whole.usual or not is_large(whole.count, whole.met):
        return None
    mostly = takewhile(lambda number: 2 * counts[number] >= steps[number].met, range(stop - 2, begin - 1, -1))
    return replace(whole, worst=spell(min(mostly, default=stop - 1)))


def _has_ended(rule: str, lately: Lately) -> bool:
    """Whether the last seconds say that a rule no longer refuses: it is not enforced now, or many pass and nobody is refused."""
    if not lately:
        return False
    passed, refused = lately.get(rule, (0, 0))
    row = current.rulebook().by_name.get(rule)
    is_enforced = code_rates.rule(rule) is not None if row is None or row.mode == "shadow" else row.mode == "enforce"
    return not is_enforced or (passed >= FEW_NOW and not refused)


LAST = 5 * MINUTE  # of a spell, in which it is counted whom it hurts
LEAST_VISITORS = 3  # are everybody
MOST_PASS, MOST_PASSED = 0.2, 0.5  # of the requests now, and in all minutes of a spell, of which some began before it
NEAR = 2 * MINUTE  # an edit so shortly before has begun it
SAID = 3 * MINUTE  # how long it is said that it has ended


def _with_visitors(spell: Spell, known: Waiting, lately: Lately, now: datetime) -> Spell:
    """With whom it refused in its last minutes, as Redis has them, and whether that is nearly everybody."""
    if spell.outcome != REFUSED:
        return spell
    since = max(spell.start, spell.end - LAST)
    by_rule = added((rule, who) for (start, rule), who in known.who.items() if since <= start < spell.end)
    mine = by_rule.pop(spell.rule, NOBODY)
    others = reduce(united, (who.registers_refused for who in by_rule.values()), "")
    alone = estimate(united(mine.registers_refused, others)) - estimate(others)
    visitors = how_many(mine.clients, REFUSED, mine.registers_refused)
    if not visitors.exact:
        visitors = replace(visitors, number=max(visitors.number, round(estimate(mine.registers_refused))))
    seen = partial(replace, visitors=visitors, alone=round(alone), count_last=mine.total.refused)
    worst = seen(spell.worst or spell)
    everybody = _everybody(worst, mine, lately) if worst.ongoing or now - worst.end <= SAID else None
    return replace(worst, everybody=everybody) if everybody is not None else seen(spell)


def _everybody(spell: Spell, who: Who, lately: Lately) -> Everybody | None:
    passed, refused = lately.get(spell.rule, (0, 0)) if spell.ongoing else (0, 0)
    is_now = passed + refused >= FEW_NOW
    share = refused / (passed + refused) if is_now else spell.share
    if 1 - share > (MOST_PASS if is_now else MOST_PASSED) or spell.visitors.number < LEAST_VISITORS or _is_of_one(who):
        return None
    of_all = refused / max(1, sum(lately.get(ALL, ()))) if is_now else 0.0
    edit = _edit_before(spell)
    rule = current.rulebook().by_name.get(spell.rule)
    is_meant = rule is not None and not any(window.limit for window in rule.windows) and of_all < SHARE
    is_attack = edit is None and spell.met > TIMES * spell.met_before
    if is_meant or is_attack:
        return None
    return Everybody(of_all, True, edit) if of_all >= 1 - MOST_PASS else Everybody(share, False, edit)


def _is_of_one(who: Who) -> bool:
    """Whether most requests came from one client, or one network: not if that is where all visitors of an intranet are."""
    networks = (counted for name, counted in who.networks.named.items() if not is_internal(name))
    most = max((counted.refused for counted in chain(networks, who.clients.named.values())), default=0)
    return 2 * most > who.total.refused


def _edit_before(spell: Spell) -> rooms.Edited | None:
    """The edit of its rule by which it began."""
    since = spell.start - NEAR
    moved = RateRule.objects.filter(name=spell.rule, mode_since__gte=since).values_list("mode_since", flat=True)
    edits = chain((first_edit(spell.rule, since) for first_edit in rooms.plugged("first_edit")), map(rooms.Edited, moved))
    edit = next(filter(None, edits), None)
    return edit if edit is not None and edit.at <= spell.start + MINUTE else None
