"""The curve of one period: the clients that each limit catches, the requests that it refuses, and the likely innocent of both.

A rule of several limits has a curve for each of their periods, each limit alone: so a curve says what its own number does.
What the rule refuses as a whole, also by penalties, is what the backtest decides.
"""

import heapq
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ratewindow.operations.backtest.peaks import ClientPeak
from ratewindow.operations.backtest.tried_limits import LIMITS, round_limits

MOST_EDGES = 20  # gaps whose both ends are points of the curve
MOST_SHOWN = 200  # clients that a curve names


@dataclass(frozen=True, slots=True)
class Point:
    """What one limit would have done. Requests are those that a ``sliding_log`` refuses; None: not known."""

    limit: int
    caught: int  # clients with a higher peak
    innocent: int  # likely, of those caught
    refused: int | None = None
    innocent_refused: int | None = None


@dataclass(frozen=True, slots=True)
class Curve:
    """Points by rising limits; the last one catches nobody."""

    period_ms: int
    points: tuple[Point, ...]
    highest: tuple[ClientPeak, ...]  # peaks first, at most `MOST_SHOWN`
    clients: int
    innocent: int
    requests: int

    def at(self, limit: int) -> Point:
        """The point of a limit; of one that has none, that of the highest limit below it."""
        limits = [point.limit for point in self.points]
        return self.points[max(0, bisect_right(limits, limit) - 1)]

    def refused_between(self, limit: int) -> tuple[int, int] | None:
        """The least and the most requests that a limit refuses, by the limits around it whose refusals are known."""
        above = [point.refused for point in self.points if point.limit >= limit and point.refused is not None]
        below = [point.refused for point in self.points if point.limit <= limit and point.refused is not None]
        return (above[0], below[-1]) if above and below else None

    def caught(self, limit: int) -> tuple[ClientPeak, ...]:
        """Those of `highest` that a limit catches."""
        return tuple(each for each in self.highest if each.peak > limit)


def curve_of(clients: Iterable[ClientPeak], period_ms: int, also: Iterable[int] = ()) -> Curve:
    """The curve, with a point for each limit of `also`: the present one, and the suggested one."""
    [curve] = curves_of([clients], period_ms, also)
    return curve


def curves_of(times: Iterable[Iterable[ClientPeak]], period_ms: int, also: Iterable[int] = ()) -> list[Curve]:
    """The curves of several times, as of an ordinary day and one with an attack, with points for the same limits."""
    tallies = [(known, _Tally(known), _Tally([each for each in known if each.likely_innocent])) for known in map(list, times)]
    limits = sorted({*also}.union(*(_limits(everybody.peaks) for _, everybody, _ in tallies)))
    return [
        Curve(
            period_ms,
            tuple(
                Point(limit, everybody.above(limit), innocent.above(limit), everybody.refused(limit), innocent.refused(limit))
                for limit in limits
            ),
            tuple(heapq.nlargest(MOST_SHOWN, known, key=lambda each: (each.peak, each.requests))),
            len(known),
            len(innocent.peaks),
            sum(each.requests for each in known),
        )
        for known, everybody, innocent in tallies
    ]


def gaps(peaks: Iterable[int]) -> list[tuple[int, int]]:
    """Neighbouring peaks, the lowest first."""
    distinct = sorted(set(peaks))
    return list(pairwise(distinct))


class _Tally:
    """Peaks in order, and the requests that each of `LIMITS` refused, of some clients."""

    def __init__(self, clients: Sequence[ClientPeak]) -> None:
        self.peaks = sorted(each.peak for each in clients)
        self._refused: dict[int, int] | None = dict.fromkeys(LIMITS, 0)
        for each in clients:
            if each.refused is None:
                self._refused = None
                break
            for limit, count in zip(LIMITS, each.refused, strict=False):
                self._refused[limit] += count

    def above(self, limit: int) -> int:
        return len(self.peaks) - bisect_right(self.peaks, limit)

    def refused(self, limit: int) -> int | None:
        if not self.above(limit):
            return 0
        return self._refused.get(limit) if self._refused is not None else None


def _limits(peaks: Sequence[int]) -> set[int]:
    """Round limits up to the first that catches nobody, and both ends of the widest gaps."""
    highest = max(peaks, default=0)
    rounds = round_limits(10 * max(1, highest))
    widest = heapq.nlargest(MOST_EDGES, gaps(peaks), key=lambda gap: gap[1] / gap[0])
    above = next(limit for limit in rounds if limit >= highest)
    return {limit for limit in rounds if limit <= above} | {end for gap in widest for end in gap}
