"""`fixed_window`: one counter for each window, which begins with the first hit or at an edge of the clock."""

from calendar import monthrange
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from ratewindow.limiter.algorithms import MOST_UNIT_MS, Algorithm, Measure
from ratewindow.limiter.problem import translatable

ALIGNMENTS_MS = {"minute": 60_000, "hour": 3_600_000, "day": 86_400_000, "week": 604_800_000, "month": 2_592_000_000}


def edges(window: Measure, now_ms: int) -> int | str:
    """The edges of the clock around now, at least from the one before last to the one after next; 0 if not aligned."""
    if not window.aligned_to:
        return 0
    around = _edges(window.aligned_to, window.timezone, window.day, now_ms - now_ms % ALIGNMENTS_MS["minute"])
    return ",".join(map(str, around))


def is_timezone(name: str) -> bool:
    """Whether the clock of this zone is known, so that windows can begin with it."""
    try:
        ZoneInfo(name)
    except (KeyError, OSError, TypeError, ValueError):  # ZoneInfo opens a file of that name
        return False
    return True


@lru_cache(maxsize=256)
def _edges(aligned_to: str, timezone: str, day: int, minute_ms: int) -> tuple[int, ...]:
    zone = ZoneInfo(timezone)
    if aligned_to in ("minute", "hour"):
        # By the distance from UTC: zones differ by quarters of an hour, and an hour may come twice.
        size = ALIGNMENTS_MS[aligned_to]
        offset = datetime.fromtimestamp(minute_ms / 1000, zone).utcoffset() or timedelta()
        start = minute_ms - (minute_ms + round(offset.total_seconds() * 1000)) % size
        return tuple(start + number * size for number in (-1, 0, 1, 2))
    today = datetime.fromtimestamp(minute_ms / 1000, zone).replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None)
    if aligned_to == "month":
        # Whether this month has begun today or is still to begin: its edge is among these with two on either side.
        month = 12 * today.year + today.month - 1
        midnights = [_in_month(month + number, day) for number in (-2, -1, 0, 1, 2)]
    else:
        days, monday = (7, today.weekday()) if aligned_to == "week" else (1, 0)
        midnights = [today + timedelta(days=days * number - monday) for number in (-1, 0, 1, 2)]
    # One that comes twice is the first of the two; one that does not come is the moment at which the clock passes it.
    return tuple(round(midnight.replace(tzinfo=zone).astimezone(UTC).timestamp() * 1000) for midnight in midnights)


def _in_month(months: int, day: int) -> datetime:
    """That day of the month of this number since the year 0, or the last day of a month that is shorter."""
    year, before = divmod(months, 12)
    return datetime(year, before + 1, min(day, monthrange(year, before + 1)[1]))


class FixedWindow:
    """`stored`: when the window began, and the units charged since."""

    settled = None

    def __init__(self, window: Measure, stored: tuple[int, int] | None, now_ms: int) -> None:
        self.window, self.now, self.capacity = window, now_ms, window.limit
        self.time, self.used = -1, 0
        self.parameter = edges(window, now_ms)
        self.start, self.stop = self._bounds(now_ms)
        self.discarded = stored is not None and stored[0] - now_ms > window.period_ms
        if stored is not None and not self.discarded:
            stop = self._bounds(stored[0])[1]
            if now_ms < stop:
                self.start, self.stop, self.used = stored[0], stop, stored[1]

    def _bounds(self, time_ms: int) -> tuple[int, int]:
        if not isinstance(self.parameter, str):
            return time_ms, time_ms + self.window.period_ms
        around = list(map(int, self.parameter.split(",")))
        before, after = [edge for edge in around if edge <= time_ms], [edge for edge in around if edge > time_ms]
        if before and after:
            return before[-1], after[0]
        start = (before or after)[-1 if before else 0]
        start += (time_ms - start) // self.window.period_ms * self.window.period_ms
        return start, start + self.window.period_ms

    @property
    def stored(self) -> tuple[int, int] | None:
        return (self.start, self.used) if self.used else None

    @property
    def room(self) -> int:
        return self.capacity - self.used

    @property
    def empty(self) -> bool:
        return not self.used

    def charge(self, cost: int) -> None:
        self.used = min(MOST_UNIT_MS, self.used + cost)
        self.time = max(self.now, self.start)

    def count(self, cost: int) -> None:
        units = min(cost, max(0, self.room))
        if units:
            self.charge(units)

    def refund(self, cost: int, time_ms: int | None) -> None:
        if time_ms is None or self.start <= time_ms < self.stop:
            self.used = max(0, self.used - cost)

    def wait(self, cost: int) -> int:
        return self.stop


def _seconds(window: Measure) -> tuple[int, int]:
    """For `Window.edges_ms`: a window that begins with the clock ends at a whole second; another one may end at any moment."""
    return (1000, 0) if window.aligned_to else (0, 0)


FIXED_WINDOW = Algorithm(
    name="fixed_window",
    label=translatable("Fixed window"),
    help=translatable(
        "One counter that begins anew each period: from the first request, or with the clock. Around the "
        "change twice the limit may pass in one window (less one, if it begins with the first request)."
    ),
    reading=FixedWindow,
    script="fixed_window",
    parameter=edges,
    edges=_seconds,
    alignable=True,
    multiplies=False,
)
