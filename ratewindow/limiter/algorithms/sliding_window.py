"""`sliding_window`: each unit by its time while they are few, so exact; else by bucket, so never above the limit.

As long as the limit, and what counts, is at most `most_times`, the time of each unit is kept, and it counts for exactly
one period. Where more may count, a period is cut into buckets of ``width = ceil(period / buckets)`` milliseconds, and
each unit counts as if it had come in the last millisecond of its bucket: it leaves less than one width late. So never too
many pass, and above that border a few are refused a little early.

``lua/algorithms/sliding_window.lua`` decides on Redis. `SlidingWindow` says the same in Python, for `MemoryStore`; a test
compares their answers.
"""

from collections.abc import Iterable
from functools import lru_cache

from ratewindow.limiter.algorithms import MOST_UNIT_MS, Algorithm, Measure
from ratewindow.limiter.problem import translatable

BYTES = 300  # for the times of one client
Units = tuple[tuple[int, int], ...]
Stored = tuple[int, Units, int]
_NOTHING: Stored = (0, (), 0)


def width(window: Measure) -> int:
    """Milliseconds of a bucket."""
    return _width(window.period_ms, window.buckets or 1)


@lru_cache(maxsize=256)
def most_times(window: Measure) -> int:
    """Up to which limit the time of each unit is kept."""
    return max(window.buckets or 1, BYTES // _size(window.period_ms))


def _width(period_ms: int, buckets: int) -> int:
    return -(-period_ms // buckets)


def _last_ms(time_ms: int, width_ms: int) -> int:
    """Of the bucket that a time lies in."""
    return time_ms - time_ms % width_ms + width_ms - 1


def _size(period_ms: int) -> int:
    """How many of the lowest bytes of a time differ within one period."""
    return min(6, max(2, (period_ms.bit_length() + 7) // 8))


def _parameter(window: Measure, now_ms: int) -> int:
    return 8 * (window.buckets or 1) + _size(window.period_ms)


class SlidingWindow:
    """`stored`: into how many buckets the period is cut, 0 if it is not, the units that count, oldest first, and their sum.

    These are pairs of a time, of a bucket its last millisecond, and how many units came then.
    """

    settled = None

    def __init__(self, window: Measure, stored: Stored | None, now_ms: int) -> None:
        self._window, self.period, self.now, self.capacity = window, window.period_ms, now_ms, window.limit
        self.time, self.discarded = -1, False
        self.cut, units, used = stored or _NOTHING
        if units:
            newest = self._newest(units)
            self.discarded = newest - now_ms > self.period
            oldest, gone = max(now_ms, newest) - self.period, 0
            for time, count in units:
                if time > oldest and not self.discarded:
                    break
                used -= count
                gone += 1
            if gone:
                units = units[gone:] if used else ()
        self.units, self.used, self.room = units, used, self.capacity - used

    def _newest(self, units: Units) -> int:
        """When the newest unit came at the earliest: a clock that goes back stands still then."""
        if not units:
            return self.now
        return units[-1][0] - (_width(self.period, self.cut) - 1 if self.cut else 0)

    def _keep(self, units: Iterable[tuple[int, int]]) -> None:
        kept = tuple(each for each in units if each[1] or self.cut)
        self.used = sum(count for _, count in kept)
        self.room = self.capacity - self.used
        self.units = kept if self.used else ()

    @property
    def stored(self) -> Stored | None:
        return (self.cut, self.units, self.used) if self.used else None

    @property
    def empty(self) -> bool:
        return not self.used

    def charge(self, cost: int) -> None:
        cost = min(cost, MOST_UNIT_MS - self.used)
        self._charge(cost, self.used + cost)

    def count(self, cost: int) -> None:
        self._charge(cost, min(self.used + cost, self.capacity))
        if self.room < 0:
            self._take_oldest(-self.room)

    def _charge(self, cost: int, most_used: int) -> None:
        time = max(self.now, self._newest(self.units))
        if not (self.cut and self.units and time <= self.units[-1][0]):  # the newest bucket may not be over
            cut = 0 if max(self.capacity, most_used) <= most_times(self._window) else self._window.buckets or 1
            if cut != self.cut:
                self._cut_anew(cut)
        self.time = self._counted_at(time)
        units = self.units
        if units and units[-1][0] == self.time:
            self.units = (*units[:-1], (self.time, units[-1][1] + cost))
        elif cost:
            self.units = (*units, (self.time, cost))
        self.used += cost
        self.room -= cost

    def _cut_anew(self, buckets: int) -> None:
        self.cut = buckets
        self._keep(_joined((self._counted_at(time), count) for time, count in self.units))

    def _counted_at(self, time_ms: int) -> int:
        return _last_ms(time_ms, _width(self.period, self.cut)) if self.cut else time_ms

    def refund(self, cost: int, time_ms: int | None) -> None:
        if time_ms is None:
            self._take_oldest(cost)
        elif time_ms + self.period > max(self.now, self._newest(self.units)):
            named = self._counted_at(time_ms)
            if not self.cut and all(time != named for time, _ in self.units):
                named = _last_ms(named, width(self._window))  # where a bucket had put it, while the limit was one for buckets
            self._keep([(time, max(0, count - cost) if time == named else count) for time, count in self.units])

    def _take_oldest(self, units: int) -> None:
        kept = []
        for time, count in self.units:
            gone = min(units, count)
            units -= gone
            kept.append((time, count - gone))
        self._keep(kept)

    def wait(self, cost: int) -> int:
        """When so many of the oldest units will have stopped counting; a bucket leaves as a whole."""
        units = cost - self.room
        for time, count in self.units:
            units -= count
            if units <= 0:
                return time + self.period
        return self.now


def _joined(units: Iterable[tuple[int, int]]) -> Units:
    """With those of one time as one pair."""
    joined: dict[int, int] = {}
    for time, count in units:
        joined[time] = joined.get(time, 0) + count
    return tuple(joined.items())


def _ends(window: Measure) -> tuple[int, int]:
    """Buckets leave at certain times, single units at any."""
    return (0, 0) if window.limit <= most_times(window) else (width(window), window.period_ms - 1)


SLIDING_WINDOW = Algorithm(
    name="sliding_window",
    label=translatable("Sliding window (recommended)"),
    help=translatable(
        "Never more than the limit in any window of the period, in constant memory. Exact for limits up to 150 a minute, "
        "100 an hour or 75 a day, or up to the number of buckets if that is higher; above, a request may be refused up to "
        "one bucket, usually a sixtieth of the period, too early."
    ),
    reading=SlidingWindow,
    script="sliding_window",
    parameter=_parameter,
    edges=_ends,
    default_buckets=60,
    most_buckets=1000,
)
