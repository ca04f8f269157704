"""The limiter without Django: identities, windows, a store, a decision; and one call for one question: may this user do this
once more?"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

from ratewindow.limiter.arguments import (
    Identity,
    Windows,
    check_cost,
    identity_of,
    merged,
    most_charge,
    whole_ms_of,
    windows_of,
)
from ratewindow.limiter.keys import digest, identity_tag
from ratewindow.limiter.memory import MemoryStore
from ratewindow.limiter.penalties import Growing, Penalty
from ratewindow.limiter.redis.store import AnyClient, store_name, store_of
from ratewindow.limiter.reply import BELIEVED_MS, Refusals, Reply, decision
from ratewindow.limiter.types import Check, Decision, Flag, Refunds, What, Window, check_number


class Store(Protocol):
    """Where the counts are. `run` decides all checks at once and answers as ``lua/decide.lua`` states; where the store
    `is_async`, answers are awaited."""

    @property
    def is_async(self) -> bool: ...

    def run(self, checks: list[Check], what: What, now_ms: int | None = None) -> Any: ...
    def refund(self, refunds: Refunds, now_ms: int | None = None, flag: Flag | None = None) -> Any: ...
    def reset(self, keys: Sequence[str]) -> Any: ...


class OnStore:
    """What asks a store of either kind, by its clock or the caller's."""

    def __init__(self, store: Store | AnyClient, clock_ms: Callable[[], float] | None) -> None:
        self._store: Any = store_of(store)
        self._clock_ms = whole_ms_of(clock_ms) if clock_ms is not None else None

    def _called(self) -> Any:
        """The store, for a caller who will not await its answers."""
        if self._store.is_async:
            raise TypeError(f"this {type(self).__name__} has an asynchronous store: await its methods that begin with an a")
        return self._store

    async def _answer(self, answer: Any) -> Any:
        return await answer if self._store.is_async else answer

    def _now_ms(self) -> int | None:
        return self._clock_ms() if self._clock_ms else None


class Limiter(OnStore):
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
        store: Store | AnyClient,
        *,
        clock_ms: Callable[[], float] | None = None,
        prefix: str = "rwl",
        believed_ms: int = BELIEVED_MS,
    ) -> None:
        super().__init__(store, clock_ms)
        self._prefix = prefix
        self._refusals = Refusals(0 if isinstance(self._store, MemoryStore) else believed_ms, self._clock_ms)

    def hit(
        self,
        identity: Identity,
        windows: Windows,
        cost: int = 1,
        *,
        force: bool = False,
        penalty_ms: Penalty = 0,
        count_refused: bool = False,
    ) -> Decision:
        """Admit and charge `cost` units if every window has room for them; else charge nothing.

        Cost 0 only looks, and a cost above the limit never passes. `force` admits whatever stands against it, and
        charges: a bucket what is left in it, the others all. With a penalty a refusal locks the identity out for
        so long, or as `penalties.parse_penalty` says, and with `count_refused` refused units are counted too, up to what is full.
        """
        checks = self._checks(identity, windows, cost, penalty_ms, count_refused)
        if force:
            return self._charge(checks, "force")
        refusals, now_ms = self._refusals, self._now_ms()
        asked_ms = refusals.clock_ms() if now_ms is None else now_ms
        if refusals.known and (known := refusals.recall(checks, asked_ms)) is not None:
            return known
        return self._learn(checks, self._called().run(checks, "hit", now_ms), asked_ms)

    def peek(self, identity: Identity, windows: Windows, cost: int = 1, *, penalty_ms: Penalty = 0) -> Decision:
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

    async def ahit(
        self,
        identity: Identity,
        windows: Windows,
        cost: int = 1,
        *,
        force: bool = False,
        penalty_ms: Penalty = 0,
        count_refused: bool = False,
    ) -> Decision:
        """`hit` on an asynchronous store."""
        checks = self._checks(identity, windows, cost, penalty_ms, count_refused)
        if force:
            return await self._acharge(checks, "force")
        refusals, now_ms = self._refusals, self._now_ms()
        asked_ms = refusals.clock_ms() if now_ms is None else now_ms
        if refusals.known and (known := refusals.recall(checks, asked_ms)) is not None:
            return known
        reply = self._store.run(checks, "hit", now_ms)
        if self._store.is_async:
            reply = await reply
        return self._learn(checks, reply, asked_ms)

    async def apeek(self, identity: Identity, windows: Windows, cost: int = 1, *, penalty_ms: Penalty = 0) -> Decision:
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

    def _checks(
        self, identity: Any, windows: Any, cost: int, penalty_ms: Penalty = 0, count_refused: bool = False
    ) -> list[Check]:
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
        lock = (
            self._lock_key(windows, who) if isinstance(penalty_ms, Growing) or check_cost(penalty_ms, name="penalty_ms") else ""
        )
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
            return [refund for part in decision.parts for refund in part.refunds(cost)], self._now_ms()
        return [(check, [None] * len(check.windows))] if cost else [], self._now_ms()

    def _states(self, identity: Identity, windows: Windows) -> list[str]:
        (check,) = self._checks(identity, windows, 0, penalty_ms=1)
        return [*check.keys, check.lock]


def _chargeable(checks: list[Check]) -> list[Check]:
    """The checks themselves; ValueError when they cost more than may be charged without asking whether there is room."""
    for check in checks:
        check_cost(check.cost, min(map(most_charge, check.windows)))
    return checks


_this_process = MemoryStore()


def is_action_allowed(user_id: object, action: str, period_s: float, max_count: int, *, store: Store | None = None) -> bool:
    """Whether the user may do the action now, and if so, counts it; at most `max_count` times in any `period_s` seconds.

    >>> [is_action_allowed(42, "reply", 60, 3) for _ in range(5)]
    [True, True, True, False, False]

    Exact, by ``sliding_log``, also for many calls within a millisecond; what is refused is not counted.
    Without a `store` the actions are counted in this process alone: give a `RedisStore` to share them, and
    give the same one each time. Users differ by the text of `user_id`: 42 and "42" are one user. For more than
    yes or no, such as how long to wait, see `Limiter.hit`. ValueError names a bad period or count.
    """
    return _limiter(store).hit(_identity(user_id, action), [_window(period_s, max_count)]).allowed


async def ais_action_allowed(
    user_id: object, action: str, period_s: float, max_count: int, *, store: Store | None = None
) -> bool:
    """`is_action_allowed`, awaited; the `store` may be an asynchronous one, such as `AsyncRedisStore`."""
    return (await _limiter(store).ahit(_identity(user_id, action), [_window(period_s, max_count)])).allowed


def _limiter(store: Store | None) -> Limiter:
    if store is not None and not hasattr(store, "run"):  # a store made here would be a new one at each call
        raise TypeError(
            f"{type(store).__name__} is not a store: make a {store_name(store) or 'RedisStore'} of the client once, and pass that"
        )
    return Limiter(_this_process if store is None else store, prefix="rwa")


def _identity(user_id: object, action: str) -> str:
    return repr((str(user_id), action))


def _window(period_s: float, max_count: int) -> Window:
    try:
        period_ms = 0 if isinstance(period_s, bool) else round(period_s * 1000)
    except (TypeError, ValueError, OverflowError):
        period_ms = 0
    if period_ms <= 0:
        raise ValueError(f"period_s {period_s!r}: write a number of seconds, such as 60 or 0.5")
    return Window(max_count, period_ms=period_ms, algorithm="sliding_log")
