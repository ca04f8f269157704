"""A curve as lines of text: a table of limits with a bar for the clients that each catches. In ASCII, as wide as the terminal.

Like commands it is in English. Bars are logarithmic, or one attacker among thousands would not be seen.
"""

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from ratewindow.limiter.durations import format_duration
from ratewindow.operations.backtest.curve import Curve, Point

MOST_LINES = 24
LEAST_BAR = 8  # characters; with less room there are no bars
UNKNOWN = "-"
LEGEND = "= likely innocent, # others; bars are logarithmic"


@dataclass(frozen=True)
class _Column:
    heading: str
    cells: Sequence[str]

    @property
    def width(self) -> int:
        return max(map(len, (self.heading, *self.cells)))


def lines(curve: Curve, width: int = 80, *, now: int | None = None, suggested: int | None = None) -> Iterator[str]:
    """The table, without colours. `now` and `suggested` are limits to mark."""
    marked = {limit for limit in (now, suggested) if limit is not None}
    points = _some(curve.points, marked)
    marks = [_mark(point.limit, now, suggested) for point in points]
    columns = [
        _Column(f"limit in {format_duration(curve.period_ms)}", [f"{point.limit:,}" for point in points]),
        _Column("clients", [f"{point.caught:,}" for point in points]),
        _Column("innocent", [f"{point.innocent:,}" for point in points]),
        _Column("refused", [UNKNOWN if point.refused is None else f"{point.refused:,}" for point in points]),
    ]
    room = width - sum(column.width + 2 for column in columns) - max(map(len, marks)) - 2
    bars = [_bar(point, curve.clients, room) for point in points] if room >= LEAST_BAR else [""] * len(points)
    longest = max(map(len, bars))
    yield "  ".join(column.heading.rjust(column.width) for column in columns)
    for number, bar in enumerate(bars):
        cells = "  ".join(column.cells[number].rjust(column.width) for column in columns)
        yield f"{cells}  {bar.ljust(longest)}  {marks[number]}".rstrip()
    if longest:
        yield LEGEND.rjust(width)


def _some(points: Sequence[Point], marked: Collection[int]) -> Sequence[Point]:
    """Points of which all is known, and each with fewer clients caught than the one before; of too many, the steepest."""
    if any(point.refused for point in points):
        points = [point for point in points if point.refused is not None or point.limit in marked]
    for least_fall in (1.0, 1.02, 1.05, 1.1, 1.2, 1.5, 2.0, 3.0, 10.0):
        kept: list[Point] = []
        for point in points:
            falls = not kept or (point.caught + 1) * least_fall < kept[-1].caught + 1
            if falls or point.limit in marked or point is points[-1]:
                kept.append(point)
        if len(kept) <= MOST_LINES:
            break
    return kept


def _mark(limit: int, now: int | None, suggested: int | None) -> str:
    return ", ".join(name for name, marked in (("now", now), ("suggested", suggested)) if marked == limit)


def _bar(point: Point, clients: int, room: int) -> str:
    """``=`` as far as the likely innocent reach alone, and ``#`` on to where all reach."""
    whole, innocent = (_length(count, clients, room) for count in (point.caught, point.innocent))
    return "=" * innocent + "#" * (whole - innocent)


def _length(count: int, clients: int, room: int) -> int:
    return math.ceil(room * math.log1p(count) / math.log1p(max(1, clients)))
