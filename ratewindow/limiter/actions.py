"""One question in one line: may this user do this once more?"""

from ratewindow.limiter.limiter import Limiter, Store
from ratewindow.limiter.memory import MemoryStore
from ratewindow.limiter.types import Window

_this_process = MemoryStore()


def is_action_allowed(user_id: object, action: str, period_s: float, max_count: int, *, store: Store | None = None) -> bool:
    """Whether the user may do the action now, and if so, counts it; at most `max_count` times in any `period_s` seconds.

    >>> [is_action_allowed(42, "reply", 60, 3) for _ in range(5)]
    [True, True, True, False, False]

    Exact, by ``sliding_log``, also for many calls within a millisecond; what is refused is not counted.
    Without a `store` the actions are counted in this process alone: give a `RedisStore` to share them, and
    give the same one each time. A user is told apart by the text of `user_id`: 42 and "42" are one user. For more than
    yes or no, such as how long to wait, see `Limiter.hit`. ValueError names a bad period or count.
    """
    window = Window(max_count, period_ms=round(period_s * 1000), algorithm="sliding_log")
    limiter = Limiter(_this_process if store is None else store, prefix="rwa")
    return limiter.hit(repr((str(user_id), action)), [window]).allowed
