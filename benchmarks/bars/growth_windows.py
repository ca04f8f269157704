"""Growth with the windows of a request, all decided in one call."""

from collections.abc import Sequence
from functools import partial

from benchmarks.floor import NAME as FLOOR
from benchmarks.floor import floor
from benchmarks.plots import Picture, curves
from benchmarks.tables import Section, Timed
from benchmarks.timing import Contestant, side_by_side
from ratewindow.limiter import Limiter, RedisStore, Window
from ratewindow.store import process_clients

COUNTS = (1, 2, 3, 5, 7, 10)


def measure() -> Section:
    limiter = Limiter(RedisStore(process_clients.client()), prefix="bench")
    contestants = {FLOOR: floor()}
    for count in COUNTS:
        windows = [Window(1000 * minutes, 60_000 * minutes) for minutes in range(1, count + 1)]
        contestants[f"{count} windows" if count > 1 else "1 window"] = Contestant(partial(_hit, limiter, windows))
    times = side_by_side(contestants)
    ratios = [times[name].ratio(times[FLOOR]) for name in list(times)[1:]]
    return Section(
        "Growth with the windows of a request",
        "Wall time of `Limiter.hit`, by windows decided in its one call.",
        [Timed(name, (), None, times[name], times[FLOOR]) for name in times],
        picture=Picture(
            "growth-windows",
            "Cost of a decision by windows",
            curves({"Limiter.hit": (COUNTS, ratios)}, "windows of a request", "wall time, times the floor", "linear"),
            (6, 3.4),
        ),
    )


def _hit(limiter: Limiter, windows: Sequence[Window], number: int) -> object:
    return limiter.hit(f"{len(windows)}:{number}", windows)
