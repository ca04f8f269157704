"""What an algorithm is: data for people and forms, its bounds, and its counting for the memory store.

For Redis the same counting stands in ``lua/algorithms/<name>.lua``, function for function.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from ratewindow.limiter.durations import UNITS_MS, format_duration

# Redis counts in doubles, which hold every whole number up to 2^53: sums of such products stay exact.
MOST_UNIT_MS = 2**52
DAY_MS = UNITS_MS["d"]


class Measure(Protocol):
    """What counting needs to know of a window."""

    @property
    def limit(self) -> int: ...
    @property
    def period_ms(self) -> int: ...
    @property
    def buckets(self) -> int | None: ...
    @property
    def parameter(self) -> int: ...


class Reading(Protocol):
    """One window of one identity, read at a time. All times are milliseconds of the store's clock."""

    stored: Any  # what to keep; None = nothing
    capacity: int  # a cost above it never passes
    room: int  # how many units fit now; negative after the limit was lowered
    discarded: bool  # the clock went back by more than a period: forget what was stored, even on a mere look

    def __init__(self, window: Measure, stored: Any, now_ms: int) -> None: ...

    def charge(self, cost: int) -> None:
        """Count `cost` units more; `stored` and `room` follow."""

    def wait(self, cost: int) -> int:
        """When there will be room for `cost` units, if nobody else calls."""

    def reset(self) -> int:
        """When `room` next grows; the time of reading when nothing counts."""


@dataclass(frozen=True)
class Algorithm:
    """One way to count. `help` states the promise and the worst case in any window."""

    name: str
    label: str
    help: str
    reading: type[Reading]
    default_buckets: int | None = None
    most_buckets: int = 0

    def problems(self, limit: int, period_ms: int, buckets: int | None) -> Iterator[str]:
        """What is wrong with a window, each as a sentence that names the value and the remedy."""
        if not isinstance(limit, int) or isinstance(limit, bool) or limit < 0:
            yield f"limit {limit!r}: write a whole number, 0 or more"
        elif not isinstance(period_ms, int) or isinstance(period_ms, bool) or period_ms < 1:
            yield f"period {period_ms!r}: write a whole number of milliseconds, at least 1"
        elif period_ms > MOST_UNIT_MS:
            yield f"period {format_duration(period_ms)} is too long to be counted: write at most {MOST_UNIT_MS // DAY_MS}d"
        elif limit * period_ms > MOST_UNIT_MS:
            most = MOST_UNIT_MS // period_ms
            period = format_duration(period_ms)
            yield f"limit {limit} is too high to be counted exactly over {period}: write at most {most}, or a shorter period"
        if buckets is not None and not self.most_buckets:
            yield f"buckets {buckets!r}: {self.name} has none, leave them out"
        elif buckets is not None and (not isinstance(buckets, int) or not 1 <= buckets <= self.most_buckets):
            yield f"buckets {buckets!r}: write 1 to {self.most_buckets}"
