"""One call for one question: may this user do this once more?"""

from ratewindow.limiter.limiter import AsyncStore, Limiter, Store
from ratewindow.limiter.memory import MemoryStore
from ratewindow.limiter.redis.client_kinds import store_name
from ratewindow.limiter.types import Window

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
    user_id: object, action: str, period_s: float, max_count: int, *, store: Store | AsyncStore | None = None
) -> bool:
    """`is_action_allowed`, awaited; the `store` may be an asynchronous one, such as `AsyncRedisStore`."""
    return (await _limiter(store).ahit(_identity(user_id, action), [_window(period_s, max_count)])).allowed


def _limiter(store: Store | AsyncStore | None) -> Limiter:
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
