"""What is unusual: a time in which a rule refuses far more than usual, or, while that is not known, a large share.

A rule's refusals are unusual if there are at least `FEW`, over `TIMES` times as many as usual in a time of that length
(`usual`), and either over `SHARE` of the requests that the rule met, or at least `MANY`. The period before may be a part of the
same attack, so where it alone says what is usual, or nothing does, a large share is enough.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from ratewindow.reporting.periods import MINUTE, Period
from ratewindow.reporting.report import Report, Rules, Waiting, sums_by_step
from ratewindow.reporting.sums import NOTHING, Sums
from ratewindow.reporting.usual import Earlier, Usual

FEW = 10
MANY = 100
SHARE = 0.05
TIMES = 3
REFUSED, WOULD_REFUSE = OUTCOMES = ("refused", "would_refuse")
MOST_LOOKED_AT = 5  # rules of each outcome, those that refused most, and of the last minutes
RECENT = timedelta(minutes=15)
MOST_GAP = 2  # quiet steps that do not end a spell
PEAK_PART = 10  # a step belongs to a spell if it has at least this part of the largest


@dataclass(frozen=True)
class Spell:
    """A time in which a rule refused unusually much. `outcome` is one of OUTCOMES."""

    rule: str
    outcome: str
    start: datetime
    end: datetime
    count: int
    met: int
    usual: Usual  # in a time of this length
    ongoing: bool
    from_start: bool  # at the start of the period, so it may have begun earlier

    @property
    def minutes(self) -> float:
        return max(1.0, (self.end - self.start) / MINUTE)


def is_unusual(count: int, met: int, usual: Usual) -> bool:
    if count < FEW:
        return False
    large_share, many_more = count > SHARE * met, usual.count is not None and count > TIMES * usual.count
    if usual.by_days:
        return many_more and (large_share or count >= MANY)
    return large_share or (many_more and count >= MANY)


def spells(report: Report, earlier: Earlier, rules: Rules, known: Waiting, now: datetime) -> list[Spell]:
    """One at most of each rule and outcome; refusals first, those that go on first, the largest first."""
    looked_at = _looked_at(report, known, now)
    if not looked_at:
        return []
    found, period = [], report.period
    by_step = sums_by_step(period, {rule for rule, _ in looked_at}, known)
    for rule, outcome in looked_at:
        series = [by_step.get((step, rule), NOTHING) for step in report.steps]
        usual = earlier.usual(rule, outcome)
        if spell := _spell(rule, outcome, period, list(report.steps), series, usual, now):
            found.append(spell)
    return sorted(found, key=lambda each: (each.outcome, not each.ongoing, -each.count, each.rule))


def _looked_at(report: Report, known: Waiting, now: datetime) -> list[tuple[str, str]]:
    recent: dict[str, Sums] = {}
    for (start, rule), sums in known.sums.items():
        if start >= now - RECENT and rule in report.rules:
            recent[rule] = recent.get(rule, NOTHING).plus(sums)
    found: dict[tuple[str, str], None] = {}
    for by_rule in (report.rules, recent):
        for outcome in OUTCOMES:
            found.update(dict.fromkeys((rule, outcome) for rule in _most(by_rule, outcome)))
    return list(found)


def _most(by_rule: Mapping[str, Sums], outcome: str) -> Iterable[str]:
    counted = ((getattr(sums, outcome), rule) for rule, sums in by_rule.items())
    return [rule for count, rule in sorted(counted, key=lambda each: (-each[0], each[1]))[:MOST_LOOKED_AT] if count >= FEW]


def _spell(
    rule: str, outcome: str, period: Period, starts: Sequence[datetime], series: Sequence[Sums], usual: Usual, now: datetime
) -> Spell | None:
    counts = [getattr(sums, outcome) for sums in series]
    end, whole = min(period.end, now), period.end - period.start
    level = max(1.0, max(counts, default=0) / PEAK_PART, TIMES * (usual.in_part(period.step / whole).count or 0.0))
    best: Spell | None = None
    for first, last in _runs([count >= level for count in counts]):
        until = min(end, starts[last + 1]) if last + 1 < len(starts) else end
        spell = Spell(
            rule,
            outcome,
            start=max(starts[first], period.start),
            end=max(until, starts[first]),
            count=sum(counts[first : last + 1]),
            met=sum(sums.met for sums in series[first : last + 1]),
            usual=usual.in_part((until - starts[first]) / whole),
            ongoing=end >= now - period.step and last >= len(starts) - (1 + MOST_GAP if period.step <= MINUTE else 2),
            from_start=first == 0,
        )
        if is_unusual(spell.count, spell.met, spell.usual) and (
            best is None or (spell.ongoing, spell.count) > (best.ongoing, best.count)
        ):
            best = spell
    return best


def _runs(high: Sequence[bool]) -> list[tuple[int, int]]:
    """The first and the last step of each run of high ones, over gaps of at most MOST_GAP."""
    runs: list[tuple[int, int]] = []
    for number, is_high in enumerate(high):
        if not is_high:
            continue
        if runs and number - runs[-1][1] <= MOST_GAP + 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    return runs
