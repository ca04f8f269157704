"""What is usual for each rule, to compare a period with: the same hours of earlier days, and the period before."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median

from django.db.models import Case, Sum, Value, When

from ratewindow import conf
from ratewindow.models import ThrottleStat
from ratewindow.reporting.open_spans import within
from ratewindow.reporting.periods import DAY, HOUR, Period, between
from ratewindow.reporting.report import Rules, Waiting, of_rules, sums_by_rule
from ratewindow.reporting.stored import Resolution, span_start
from ratewindow.reporting.sums import NOTHING, NUMBERS, Sums

DAYS = 7  # earlier ones that are looked at
FEWEST_DAYS = 3  # fewer say little about a usual day


@dataclass(frozen=True)
class Usual:
    """How many requests a rule usually refuses in a time of one length; None if that is not known."""

    count: float | None = None
    by_days: bool = False  # by earlier days; otherwise the period before says it, in which the same attack may have begun

    def in_part(self, part: float) -> "Usual":
        """The same for a part of that time."""
        return self if self.count is None else Usual(self.count * part, self.by_days)


@dataclass(frozen=True)
class Earlier:
    """What rules did before a period. `before` is the period of the same length that ends where it begins; None if counting
    had not begun. `days` are the same hours of earlier days, without those before counting began; none for longer periods."""

    before: Mapping[str, Sums] | None = None
    days: Sequence[Mapping[str, Sums]] = ()
    scale: float = 1  # how much longer the period is than the hours of a day

    @property
    def total_before(self) -> Sums | None:
        if self.before is None:
            return None
        total = NOTHING
        for sums in self.before.values():
            total = total.plus(sums)
        return total

    def usual(self, rule: str, outcome: str) -> Usual:
        """By the median of the days, on which an attack on one of them has no influence; else by the period before."""
        if len(self.days) >= FEWEST_DAYS:
            return Usual(self.scale * median(getattr(day.get(rule, NOTHING), outcome) for day in self.days), by_days=True)
        if self.before is None:
            return Usual()
        return Usual(float(getattr(self.before.get(rule, NOTHING), outcome)))


def earlier(period: Period, rules: Rules, known: Waiting, now: datetime) -> Earlier:
    """By four queries, or more for longer periods, whatever there is."""
    first, kept, length = _first(known), conf.current().retention, period.end - period.start
    if first is None:
        return Earlier()
    before = None
    if first <= period.start - length and now - (period.start - length) <= max(kept.values()):
        before = sums_by_rule(between(period.start - length, period.start, now, kept), rules, known)
    hours = max(1, round(length / HOUR))
    if hours > DAY // HOUR:
        return Earlier(before)
    begin = span_start(period.start, Resolution.HOUR)
    begins = [begin - number * DAY for number in range(1, DAYS + 1)]
    begins = [each for each in begins if each >= first and now - each <= kept["hour"]]
    return Earlier(before, _days(begins, hours * HOUR, rules), length / (hours * HOUR))


def _first(known: Waiting) -> datetime | None:
    """When counting began, as far as is known."""
    rows = ThrottleStat.objects.order_by("start").values_list("start", flat=True)
    hour, day = (rows.filter(resolution=each).first() for each in (Resolution.HOUR, Resolution.DAY))
    if hour and day and span_start(hour, Resolution.DAY) == day:
        day = None  # the hour is more exact
    return min((moment for moment in (hour, day, *(start for start, _ in known.sums)) if moment), default=None)


def _days(begins: Sequence[datetime], length: timedelta, rules: Rules) -> list[dict[str, Sums]]:
    found: list[dict[str, Sums]] = [{} for _ in begins]
    if not begins:
        return found
    spans = [(begin, begin + length) for begin in begins]
    day = Case(*(When(start__gte=start, start__lt=end, then=Value(number)) for number, (start, end) in enumerate(spans)))
    rows = ThrottleStat.objects.filter(of_rules(rules), within(spans), resolution=Resolution.HOUR).order_by()
    for number, rule, *numbers in rows.annotate(day=day).values_list("day", "rule").annotate(*(Sum(each) for each in NUMBERS)):
        found[number][rule] = Sums.of(numbers)
    return found
