"""What an algorithm is, and all of them by name: data for people and forms, its bounds, its counting for the memory store.

For Redis the same counting stands in ``lua/algorithms/<script>.lua``, function for function. A new one is a module here, with
its name in capitals, a Lua file, and its name in `_MODULES`.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from ratewindow.limiter.durations import UNITS_MS, format_duration
from ratewindow.limiter.problem import Problem

if TYPE_CHECKING:
    from ratewindow.limiter.types import Window

Measure: TypeAlias = "Window"  # which needs the algorithms itself

# By name, in the order of forms.
_MODULES = {
    "sliding_window": "sliding_window",
    "sliding_log": "sliding_log",
    "sliding_estimate": "sliding_estimate",
    "fixed_window": "fixed_window",
    "token_bucket": "meter",
    "leaky_bucket": "meter",
}

# Redis counts in doubles, which hold every whole number up to 2^53: sums of such products stay exact.
MOST_UNIT_MS = 2**52
DAY_MS = UNITS_MS["d"]


class Reading(Protocol):
    """One window of one identity, read at a time. All times are milliseconds of the store's clock."""

    @property
    def stored(self) -> Any:
        """What to keep; None = nothing."""

    @property
    def settled(self) -> Any:
        """What to keep of a hit that is not charged, where that is something else than before; None = nothing else."""

    @property
    def capacity(self) -> int:
        """A cost above it never passes."""

    @property
    def room(self) -> int:
        """How many units fit now; negative after the limit was lowered."""

    @property
    def time(self) -> int:
        """Under which time the last charge was counted; -1 = none."""

    @property
    def empty(self) -> bool:
        """Nothing counts, so there is nothing to refund."""

    @property
    def discarded(self) -> bool:
        """The clock went back by more than a period: take what was stored for nothing and, unless one peeks, forget it."""

    def charge(self, cost: int) -> None:
        """Count `cost` units more; `stored`, `room` and `time` follow."""

    def count(self, cost: int) -> None:
        """Count a refused request: as `charge`, up to what is full."""

    def refund(self, cost: int, time_ms: int | None) -> None:
        """Refund units of the charge counted under that time, else the oldest that count."""

    def wait(self, cost: int) -> int:
        """When there will be room for `cost` units, if nobody else calls."""


@dataclass(frozen=True)
class Algorithm:
    """One way to count. `help` states the promise and the worst case in any window."""

    name: str
    label: str
    help: str
    reading: Callable[[Any, Any, int], Reading]  # of a window, what was stored, and the time
    script: str  # its file in lua/algorithms
    parameter: Callable[[Any, int], int | str] = lambda window, now_ms: 0  # of a window and the time, for the script
    edges: Callable[[Any], tuple[int, int]] = lambda window: (
        0,
        0,
    )  # when units can stop counting: step and one of them
    takes_what_is_left: bool = False  # a forced charge above the room takes the room alone
    default_buckets: int | None = None
    most_buckets: int = 0
    default_burst: Callable[[int], int] | None = None  # of the limit; None: the algorithm has no burst
    most_limit: int | None = None
    alignable: bool = False
    multiplies: bool = True  # units by the period, so that both together are bounded

    def most_units(self, period_ms: int) -> int:
        """The most that can be counted exactly."""
        return MOST_UNIT_MS // period_ms if self.multiplies else MOST_UNIT_MS

    def problems(self, window: Measure) -> Iterator[Problem]:
        """What is wrong with a window, each as a sentence that begins with the field and names the value and the remedy."""
        limit, period_ms = window.limit, window.period_ms
        if not _whole(limit) or limit < 0:
            yield Problem("limit {limit!r}: write a whole number, 0 or more", limit=limit)
        elif not _whole(period_ms) or period_ms < 1:
            yield Problem("period {period_ms!r}: write a whole number of milliseconds, at least 1", period_ms=period_ms)
        elif period_ms > MOST_UNIT_MS:
            yield Problem(
                "period {period} is too long to be counted: write at most {most}",
                period=format_duration(period_ms),
                most=f"{MOST_UNIT_MS // DAY_MS}d",
            )
        elif limit > MOST_UNIT_MS and not self.multiplies:
            yield Problem("limit {limit} is too high to be counted exactly: write at most {most}", limit=limit, most=MOST_UNIT_MS)
        elif limit > self.most_units(period_ms):
            yield Problem(
                "limit {limit} is too high to be counted exactly over {period}: write at most {most}, or a shorter period",
                limit=limit,
                period=format_duration(period_ms),
                most=self.most_units(period_ms),
            )
        elif self.most_limit is not None and limit > self.most_limit:
            yield Problem(
                "limit {limit} is too high for {algorithm}, which keeps each unit: write at most {most}, or use sliding_window",
                limit=limit,
                algorithm=self.name,
                most=self.most_limit,
            )
        else:
            yield from self._option_problems(window)

    def _option_problems(self, window: Measure) -> Iterator[Problem]:
        buckets, burst = window.buckets, window.burst
        if buckets is not None and not self.most_buckets:
            yield Problem("buckets {buckets!r}: {algorithm} has none, leave them out", buckets=buckets, algorithm=self.name)
        elif buckets is not None and (not _whole(buckets) or not 1 <= buckets <= self.most_buckets):
            yield Problem("buckets {buckets!r}: write 1 to {most}", buckets=buckets, most=self.most_buckets)
        if burst is not None and self.default_burst is None:
            yield Problem("burst {burst!r}: {algorithm} has none, leave it out", burst=burst, algorithm=self.name)
        elif burst is not None and (not _whole(burst) or burst < 1 or burst * window.period_ms > MOST_UNIT_MS):
            yield Problem(
                "burst {burst!r}: write a whole number from 1 to {most}", burst=burst, most=MOST_UNIT_MS // window.period_ms
            )
        if window.aligned_to and not self.alignable:
            yield Problem("aligned_to {given!r}: only fixed_window begins with the clock, leave it out", given=window.aligned_to)


def _whole(number: object) -> bool:
    return isinstance(number, int) and not isinstance(number, bool)


@cache
def algorithm(name: str) -> Algorithm:
    """The algorithm of that name; ValueError lists the known ones."""
    if name not in _MODULES:
        raise Problem("{name!r} is not an algorithm: choose from {names}", name=name, names=", ".join(_MODULES))
    chosen: Algorithm = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name.upper())
    return chosen


def algorithm_choices() -> list[tuple[str, str]]:
    """Name and label of each, for forms."""
    return [(name, algorithm(name).label) for name in _MODULES]
