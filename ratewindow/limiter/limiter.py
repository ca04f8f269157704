"""The limiter without Django: identities, windows, a store, a decision."""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, Protocol

from ratewindow.limiter.algorithms import algorithm
from ratewindow.limiter.algorithms.base import MOST_UNIT_MS
from ratewindow.limiter.arguments import Identity, Windows, identity_of, whole_ms_of, windows_of
from ratewindow.limiter.keys import digest, identity_tag
from ratewindow.limiter.memory import MemoryStore
from ratewindow.limiter.merging import merged
from ratewindow.limiter.redis.store_for import AnyClient, store_of
from ratewindow.limiter.refusals import BELIEVED_MS, Refusals
from ratewindow.limiter.reply import Reply, decision
from ratewindow.limiter.types import Check, Decision, Refunds, What, Window, check_number

MOST_COST = 1_000_000  # of what a log is charged at once, which keeps that many units and no more
MOST_UNITS = MOST_UNIT_MS  # that can be counted at all


class Store(Protocol):
    """Where the counts are. `run` decides all checks at once and answers as ``lua/decide.lua`` states."""

    @property
    def is_async(self) -> bool: ...

    def run(self, checks: list[Check], what: What, now_ms: int | None = None) -> Reply: ...
    def refund(self, refunds: Refunds, now_ms: int | None = None) -> None: ...
    def reset(self, keys: Sequence[str]) -> None: ...


class AsyncStore(Protocol):
    """`Store` with answers that are awaited."""

    @property
    def is_async(self) -> bool: ...

    def run(self, checks: list[Check], what: What, now_ms: int | None = None) -> Awaitable[Reply]: ...
    def refund(self, refunds: Refunds, now_ms: int | None = None) -> Awaitable[object]: ...
    def reset(self, keys: Sequence[str]) -> Awaitable[None]: ...


def check_cost(cost: int, most: int = MOST_UNITS) -> int:
    """The cost itself; ValueError when it is no whole number of units from 0 to `most`."""
    if not isinstance(cost, int) or isinstance(cost, bool) or not 0 <= cost <= most:
        raise ValueError(f"cost {cost!r}: write a whole number from 0 to {most}")
    return cost


def payable(check: Check) -> Check:
    """The check, with no more units than one call may charge whatever the limits are."""
    return check._replace(cost=min(check.cost, *map(_most_charge, check.windows)))


def _most_charge(window: Window) -> int:
    """A log keeps each unit, and all else is counted exactly."""
    keeps_each = algorithm(window.algorithm).most_limit is not None
    return MOST_COST if keeps_each else max(MOST_COST, MOST_UNITS // window.period_ms)


def _check_penalty(penalty_ms: int) -> int:
    if not isinstance(penalty_ms, int) or isinstance(penalty_ms, bool) or not 0 <= penalty_ms <= MOST_UNIT_MS:
        raise ValueError(f"penalty_ms {penalty_ms!r}: write a whole number of milliseconds from 0 to {MOST_UNIT_MS}")
    return penalty_ms


class Limiter:
    """Limits identities on a store; on an asynchronous one await `ahit`, `apeek` and so on.

    >>> limiter = Limiter(MemoryStore())
    >>> limiter.hit("user:42", [Window(10, period_ms=1000)]).remaining
    9

    The store may also be a client of redis-py, sync or async, of one server or a Cluster; identities that belong
    together may be a tuple, and one window may stand alone.

    `clock_ms` decides by its milliseconds, from 0 on, instead of the server's clock: for tests and replays. A
    server's keys still expire by its own time, an hour later than they would: a clock may fall behind it by
    that much. `prefix` begins the name of every key. A refusal is remembered in this process for its time, but
    at most for `believed_ms` (0: never), so that a client that hammers costs no round trips; a refund or reset
    in another process acts so much later. Everywhere ValueError names a bad cost or penalty, or that there are
    no windows.
    """

    def __init__(
        self,
        store: Store | AsyncStore | AnyClient,
        *,
        clock_ms: Callable[[], float] | None = None,
        prefix: str = "rwl",
        believed_ms: int = BELIEVED_MS,
    ) -> None:
        self._store: Any = store_of(store)
        self._clock_ms = whole_ms_of(clock_ms) if clock_ms is not None else None
        self._prefix = prefix
        self._refusals = Refusals(0 if isinstance(self._store, MemoryStore) else believed_ms, self._clock_ms)

    def hit(
        self,
        identity: Identity,
        windows: Windows,
        cost: int = 1,
        *,
        force: bool = False,
        penalty_ms: int = 0,
        count_refused: bool = False,
    ) -> Decision:
        """Admit and charge `cost` units if every window has room for them; else charge nothing.

        Cost 0 only looks, and a cost above the limit never passes. `force` admits whatever stands against it, and
        charges: a bucket what is left in it, the others all. With a penalty a refusal locks the identity out for
        so long, and with `count_refused` refused units are counted too, up to what is full.
        """
        checks = self._checks(identity, windows, cost, penalty_ms, count_refused)
        if force:
            return self._charge(checks, "force")
        refusals, now_ms = self._refusals, self._now_ms()
        asked_ms = refusals.clock_ms() if now_ms is None else now_ms
        if refusals and (known := refusals.recall(checks, asked_ms)) is not None:
            return known
        return self._learn(checks, self._called().run(checks, "hit", now_ms), asked_ms)

    def peek(self, identity: Identity, windows: Windows, cost: int = 1, *, penalty_ms: int = 0) -> Decision:
        """What `hit` would answer, without charging or locking."""
        return self._decide(self._checks(identity, windows, cost, penalty_ms), "peek")

    def charge(self, identity: Identity, windows: Windows, cost: int) -> Decision:
        """Charge unconditionally, for work whose cost is known only afterwards; used may then exceed the limit."""
        return self._charge(self._checks(identity, windows, cost), "charge")

    def refund(self, identity: Identity, windows: Windows, cost: int = 1, *, decision: Decision | None = None) -> None:
        """Refund units. Those of a decision reduce the charge it made, as far as that still counts; without a
        decision, the oldest units that count are removed."""
        refunds, now_ms = self._refunds(identity, windows, cost, decision)
        if refunds:
            self._called().refund(refunds, now_ms)
            self._refusals.forget()

    def reset(self, identity: Identity, windows: Windows) -> None:
        """Forget what these windows counted for the identity, and a lock."""
        self._called().reset(self._states(identity, windows))
        self._refusals.forget()

    def acquire(self, identity: Identity, windows: Windows, cost: int = 1, *, timeout_s: float) -> Decision:
        """`hit`, waiting for its turn, but not beyond `timeout_s`: then, or when its turn would come later, refused."""
        deadline_s, windows = _deadline_s(timeout_s), windows_of(windows)  # an iterator is read once, but checked more often
        while not (answer := self.hit(identity, windows, cost)):
            if not _worth_waiting(answer, deadline_s):
                break
            time.sleep(answer.retry_after or 0)
        return answer

    async def ahit(
        self,
        identity: Identity,
        windows: Windows,
        cost: int = 1,
        *,
        force: bool = False,
        penalty_ms: int = 0,
        count_refused: bool = False,
    ) -> Decision:
        """`hit` on an asynchronous store."""
        checks = self._checks(identity, windows, cost, penalty_ms, count_refused)
        if force:
            return await self._acharge(checks, "force")
        refusals, now_ms = self._refusals, self._now_ms()
        asked_ms = refusals.clock_ms() if now_ms is None else now_ms
        if refusals and (known := refusals.recall(checks, asked_ms)) is not None:
            return known
        reply = self._store.run(checks, "hit", now_ms)
        if self._store.is_async:
            reply = await reply
        return self._learn(checks, reply, asked_ms)

    async def apeek(self, identity: Identity, windows: Windows, cost: int = 1, *, penalty_ms: int = 0) -> Decision:
        """`peek` on an asynchronous store."""
        return await self._adecide(self._checks(identity, windows, cost, penalty_ms), "peek")

    async def acharge(self, identity: Identity, windows: Windows, cost: int) -> Decision:
        """`charge` on an asynchronous store."""
        return await self._acharge(self._checks(identity, windows, cost), "charge")

    async def arefund(self, identity: Identity, windows: Windows, cost: int = 1, *, decision: Decision | None = None) -> None:
        """`refund` on an asynchronous store."""
        refunds, now_ms = self._refunds(identity, windows, cost, decision)
        if refunds:
            await self._answer(self._store.refund(refunds, now_ms))
            self._refusals.forget()

    async def areset(self, identity: Identity, windows: Windows) -> None:
        """`reset` on an asynchronous store."""
        await self._answer(self._store.reset(self._states(identity, windows)))
        self._refusals.forget()

    async def aacquire(self, identity: Identity, windows: Windows, cost: int = 1, *, timeout_s: float) -> Decision:
        """`acquire` on an asynchronous store."""
        deadline_s, windows = _deadline_s(timeout_s), windows_of(windows)  # an iterator is read once, but checked more often
        while not (answer := await self.ahit(identity, windows, cost)):
            if not _worth_waiting(answer, deadline_s):
                break
            await asyncio.sleep(answer.retry_after or 0)
        return answer

    def _decide(self, checks: list[Check], what: What) -> Decision:
        return decision(checks, self._called().run(checks, what, self._now_ms()), what)

    async def _adecide(self, checks: list[Check], what: What) -> Decision:
        return decision(checks, await self._answer(self._store.run(checks, what, self._now_ms())), what)

    def _charge(self, checks: list[Check], what: What) -> Decision:
        """Charge whatever stands against it: a wait that is remembered may be longer now."""
        charged = self._decide(_chargeable(checks), what)
        self._refusals.forget()
        return charged

    async def _acharge(self, checks: list[Check], what: What) -> Decision:
        charged = await self._adecide(_chargeable(checks), what)
        self._refusals.forget()
        return charged

    def _learn(self, checks: list[Check], reply: Reply, asked_ms: float) -> Decision:
        answer = decision(checks, reply)
        if not answer.allowed:
            self._refusals.learn(checks, reply, asked_ms)
        return answer

    async def _answer(self, answer: Any) -> Any:
        return await answer if self._store.is_async else answer

    def _called(self) -> Any:
        """The store, for a caller who will not await its answers."""
        if self._store.is_async:
            raise TypeError("this limiter has an asynchronous store: await ahit(), apeek() and so on")
        return self._store

    def _now_ms(self) -> int | None:
        return self._clock_ms() if self._clock_ms else None

    def _checks(self, identity: Any, windows: Any, cost: int, penalty_ms: int = 0, count_refused: bool = False) -> list[Check]:
        if not windows:
            raise ValueError("no windows: give at least one, such as Window(10, period_ms=1000)")
        try:
            who = identity_tag(identity)
            if len(windows) == 1:
                keys: tuple[str, ...] = (f"{self._prefix}:{windows[0].tag}:{who}",)
            else:
                keys = tuple([f"{self._prefix}:{window.tag}:{who}" for window in windows])
        except (TypeError, AttributeError, KeyError):  # not text and a list: look at what else they may be
            usual = identity_of(identity), windows_of(windows)
            if usual == (identity, windows):
                raise
            return self._checks(*usual, cost, penalty_ms, count_refused)
        lock = self._lock_key(windows, who) if _check_penalty(penalty_ms) else ""
        check = Check("limiter", tuple(windows), keys, check_cost(cost), True, count_refused, penalty_ms, lock)
        if len(keys) == 1:
            return [check]
        check_number([check])
        return [check] if len(set(keys)) == len(keys) else merged([check])

    def _lock_key(self, windows: Iterable[Window], who: str) -> str:
        """Of these windows, in whichever order and however often they are given."""
        tags = sorted({window.tag for window in windows})
        return f"{self._prefix}:{digest('lock ' + ' '.join(tags), 6)}:{who}"

    def _refunds(self, identity: Identity, windows: Windows, cost: int, decision: Decision | None) -> tuple[Refunds, int | None]:
        """The refunds, and the time at which they are made; none for a cost of 0."""
        (check,) = self._checks(identity, windows, cost)
        if decision is not None:
            return decision.refunds(cost), self._now_ms()
        return [(check, [None] * len(check.windows))] if cost else [], self._now_ms()

    def _states(self, identity: Identity, windows: Windows) -> list[str]:
        (check,) = self._checks(identity, windows, 0, penalty_ms=1)
        return [*check.keys, check.lock]


def _chargeable(checks: list[Check]) -> list[Check]:
    """The checks themselves; ValueError when they cost more than may be charged without asking whether there is room."""
    for check in checks:
        check_cost(check.cost, min(map(_most_charge, check.windows)))
    return checks


def _deadline_s(timeout_s: float) -> float:
    if not isinstance(timeout_s, int | float) or math.isnan(timeout_s):
        raise ValueError(f"timeout_s {timeout_s!r}: write a number of seconds, such as 2.5")
    return time.monotonic() + timeout_s


def _worth_waiting(refused: Decision, deadline_s: float) -> bool:
    return refused.retry_after is not None and time.monotonic() + refused.retry_after <= deadline_s
