"""A counter over a sliding window, without a limit: `add`, and `get` what was added in the last five seconds.

It is the buckets of ``sliding_window`` with nothing to fill them, so it lies in any store that the limiter
knows, and agrees with the limiter on what a window is.
"""

from collections.abc import Callable
from datetime import timedelta
from typing import cast

from ratewindow.limiter.algorithms.sliding_window import width
from ratewindow.limiter.arguments import MOST_UNITS, check_cost
from ratewindow.limiter.durations import parse_duration, unit_ms
from ratewindow.limiter.keys import identity_tag
from ratewindow.limiter.limiter import OnStore, Store
from ratewindow.limiter.memory import MemoryStore
from ratewindow.limiter.redis.store import AnyClient
from ratewindow.limiter.reply import Reply
from ratewindow.limiter.types import Check, What, Window

FEWEST_BUCKETS, MOST_BUCKETS = 60, 1000


class _Boundless(Window):
    """A window that nothing fills. Buckets never multiply a limit by a period, so there is no bound to their product."""

    def __post_init__(self) -> None:
        Window(0, self.period_ms, buckets=self.buckets)  # names a bad period or number of buckets


class SlidingCounter(OnStore):
    """Counts what was added in the last `length` `unit`\\ s; ``SlidingCounter("1d2h3m4s")`` is as good.

    >>> counter = SlidingCounter(5, "seconds", name="logins")
    >>> counter.add()
    1
    >>> counter.add(2)
    3
    >>> counter.get()
    3

    Without a `store` it counts in this process, for itself. With one, such as a `RedisStore` or a client of
    redis-py, counters of the same `name` and length are one counter, shared by all who have the store; on an
    asynchronous one await `aadd` and `aget`. `clock_ms` counts by its milliseconds: for tests and replays.

    Nothing leaves early, and everything leaves less than `resolution_ms` late: never too little is counted,
    and never more than was added in the last length + `resolution_ms`. That is a sixtieth of the length, or
    one unit where this is finer, down to a thousandth; `buckets`, from 1 to 1000, chooses another part. Memory
    is about a byte for each bucket.

    ValueError names a bad length, unit or number of buckets. Source of the algorithm: the ring of Sentinel's
    LeapArray, with the oldest bucket counted whole until all of it is older than the window.
    """

    def __init__(
        self,
        length: int | str | timedelta,
        unit: str | None = None,
        *,
        name: str = "calls",
        store: Store | AnyClient | None = None,
        buckets: int | None = None,
        clock_ms: Callable[[], float] | None = None,
        prefix: str = "rwc",
    ) -> None:
        if not isinstance(name, str):
            raise TypeError(f"name {name!r}: give a text")
        if unit is None:
            period_ms, units = parse_duration(cast("str | timedelta", length)), 0
        elif isinstance(length, bool) or not isinstance(length, int) or length < 1:
            raise ValueError(f"length {length!r}: write a whole number of {unit}, at least 1")
        else:
            period_ms, units = length * unit_ms(unit), length
        usual = min(max(FEWEST_BUCKETS, units), MOST_BUCKETS)
        window = _Boundless(MOST_UNITS, period_ms, buckets=usual if buckets is None else buckets)
        self.resolution_ms = width(window)
        key = f"{prefix}:{window.tag}:{identity_tag(name)}"
        self._check = Check(name, (window,), (key,))
        super().__init__(MemoryStore() if store is None else store, clock_ms)

    def add(self, n: int = 1) -> int:
        """Count `n` more, a whole number from 0; how many it are now."""
        return _used(self._called().run(*self._charge(n)))

    def get(self) -> int:
        """How many were added in the window."""
        return _used(self._called().run(*self._look()))

    async def aadd(self, n: int = 1) -> int:
        """`add` on an asynchronous store."""
        return _used(await self._answer(self._store.run(*self._charge(n))))

    async def aget(self) -> int:
        """`get` on an asynchronous store."""
        return _used(await self._answer(self._store.run(*self._look())))

    def _charge(self, n: int) -> "tuple[list[Check], What, int | None]":
        return [self._check._replace(cost=check_cost(n, name="n"))], "charge", self._now_ms()

    def _look(self) -> "tuple[list[Check], What, int | None]":
        return [self._check._replace(cost=0)], "peek", self._now_ms()


def _used(reply: Reply) -> int:
    return MOST_UNITS - reply[0].windows[0].remaining
