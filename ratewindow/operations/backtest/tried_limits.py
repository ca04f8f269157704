"""What other limits would have refused to one client: the sliding log of each limit, decided as its requests come."""

from array import array
from collections.abc import Iterable
from itertools import accumulate

MOST_TRIED = 10_000  # higher limits are not tried, so that the logs of one client take half a megabyte at most
NEVER_MS, NEVER = -(1 << 62), 1 << 62


_ROUND = (10, 12, 15, 20, 25, 30, 40, 50, 60, 80)  # tenths of a power of ten


def round_limits(most: int) -> tuple[int, ...]:
    """The limits that people write, from 1 to `most`: ten of each power of ten."""
    within = [tens * 10**power // 10 for power in range(len(str(most))) for tens in _ROUND]
    return tuple(limit for limit in sorted({*within, 7, 9}) if limit <= most)


LIMITS = round_limits(MOST_TRIED)
_BEGINS = (0, *accumulate(LIMITS))


class TriedLimits:
    """The `LIMITS` below a client's peak. One at or above it refuses nothing, so it needs no log yet."""

    __slots__ = ("_admitted", "_oldest", "refused")

    def __init__(self) -> None:
        # The times of the units that each limit admitted last, as many as the limit: a ring for each, one after the other.
        self._admitted = array("q")
        self._oldest: list[int] = []  # where the oldest of each ring is
        self.refused: list[int] = []  # requests

    @property
    def next(self) -> int:
        """The limit that a higher peak would add."""
        begun = len(self.refused)
        return LIMITS[begun] if begun < len(LIMITS) else NEVER

    def decide(self, at_ms: int, cost: int, period_ms: int) -> None:
        """Decide a request by each limit that has begun."""
        if len(self._oldest) < len(self.refused):
            self._oldest = [*_BEGINS[: len(self.refused)]]
            self._admitted = array("q", [NEVER_MS]) * _BEGINS[len(self.refused)]
        edge, admitted, oldest, refused = at_ms - period_ms, self._admitted, self._oldest, self.refused
        if cost == 1:
            for index, place in enumerate(oldest):
                if admitted[place] > edge:
                    refused[index] += 1
                    continue
                admitted[place] = at_ms
                place += 1
                oldest[index] = place if place < _BEGINS[index + 1] else _BEGINS[index]
            return
        for index, place in enumerate(oldest):
            limit, begin = LIMITS[index], _BEGINS[index]
            if cost > limit or (cost and admitted[begin + (place - begin + cost - 1) % limit] > edge):
                refused[index] += 1
                continue
            for unit in range(cost):
                admitted[begin + (place - begin + unit) % limit] = at_ms
            oldest[index] = begin + (place - begin + cost) % limit

    def rest(self) -> None:
        """Forget what was admitted: all of it has left the window."""
        self._admitted, self._oldest = array("q"), []

    def begin(self, used: int, window: Iterable[tuple[int, int]]) -> None:
        """Begin the limits below `used`, units that would be in the window with a request that they refuse. They have refused
        nothing before: `window` is what they admitted, as times and units, oldest first."""
        units = array("q")
        for time_ms, count in window:
            units.extend([time_ms] * count)
        while self.next < used:
            limit = self.next
            self._oldest.append(len(self._admitted))
            self._admitted.extend(array("q", [NEVER_MS]) * (limit - len(units)) + units)
            self.refused.append(1)
