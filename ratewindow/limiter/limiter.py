"""The limiter without Django: identities, windows, a store, a decision."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from ratewindow.limiter.keys import identity_tag, window_tag
from ratewindow.limiter.types import Check, Decision, Window
from ratewindow.limiter.wire import decision, merged


class Store(Protocol):
    """Where the counts are. `run` decides all checks at once and answers as ``lua/decide.lua`` states."""

    def run(self, checks: list[Check], charge: bool, now_ms: int | None = None) -> list[int]: ...


class AsyncStore(Protocol):
    def run(self, checks: list[Check], charge: bool, now_ms: int | None = None) -> Awaitable[list[int]]: ...


def check_cost(cost: int) -> int:
    """The cost itself; ValueError when it is no whole number of units, 0 or more."""
    if not isinstance(cost, int) or isinstance(cost, bool) or cost < 0:
        raise ValueError(f"cost {cost!r}: write a whole number, 0 or more")
    return cost


class Limiter:
    """Limits identities on a store: `hit` and `peek`, or `ahit` and `apeek` on an asynchronous one.

    >>> limiter = Limiter(MemoryStore())
    >>> limiter.hit("user:42", [Window(10, period_ms=1000)]).remaining
    9

    `clock_ms` decides by its milliseconds instead of the server's clock: for tests and replays. `prefix`
    begins the name of every key.
    """

    def __init__(self, store: Store | AsyncStore, *, clock_ms: Callable[[], int] | None = None, prefix: str = "rwl") -> None:
        self._store = store
        self._clock_ms = clock_ms
        self._prefix = prefix

    def hit(self, identity: str, windows: Sequence[Window], cost: int = 1) -> Decision:
        """Admit and charge `cost` units if every window has room for them; else charge nothing.

        Cost 0 only looks. ValueError for a negative cost or no windows.
        """
        return self._decide(identity, windows, cost, charge=True)

    def peek(self, identity: str, windows: Sequence[Window], cost: int = 1) -> Decision:
        """What `hit` would answer, without charging."""
        return self._decide(identity, windows, cost, charge=False)

    async def ahit(self, identity: str, windows: Sequence[Window], cost: int = 1) -> Decision:
        """`hit` on an asynchronous store."""
        return await self._adecide(identity, windows, cost, charge=True)

    async def apeek(self, identity: str, windows: Sequence[Window], cost: int = 1) -> Decision:
        """`peek` on an asynchronous store."""
        return await self._adecide(identity, windows, cost, charge=False)

    def _decide(self, identity: str, windows: Sequence[Window], cost: int, charge: bool) -> Decision:
        checks = self._checks(identity, windows, cost)
        reply = self._store.run(checks, charge, self._now_ms())
        if not isinstance(reply, list):
            if hasattr(reply, "close"):
                reply.close()  # a coroutine that nobody will await
            raise TypeError("this limiter has an asynchronous store: await ahit() or apeek()")
        return decision(checks, reply)

    async def _adecide(self, identity: str, windows: Sequence[Window], cost: int, charge: bool) -> Decision:
        checks = self._checks(identity, windows, cost)
        reply = self._store.run(checks, charge, self._now_ms())
        return decision(checks, reply if isinstance(reply, list) else await reply)

    def _now_ms(self) -> int | None:
        return self._clock_ms() if self._clock_ms else None

    def _checks(self, identity: str, windows: Sequence[Window], cost: int) -> list[Check]:
        if not windows:
            raise ValueError("no windows: give at least one, such as Window(10, period_ms=1000)")
        who = identity_tag(identity)
        keys = tuple(f"{self._prefix}:{window_tag(window)}:{who}" for window in windows)
        return merged([Check("limiter", tuple(windows), keys, check_cost(cost))])
