"""What code of the site's reads of a throttle that has decided: the history and the cache of REST framework, true to the
decision."""

from typing import Any

from ratewindow.limiter.types import Decision


class CacheOfDecided:
    """The cache of a throttle that has decided. At the throttle's key is its history, and to write that counts; everything
    else is in the cache of the site."""

    def __init__(self, cache: Any, throttle: Any) -> None:
        self._cache, self._throttle = cache, throttle

    def get(self, key: Any, *default: Any, **options: Any) -> Any:
        return [*self._throttle.stored_history] if key == self._throttle.key else self._cache.get(key, *default, **options)

    def set(self, key: Any, value: Any, *more: Any, **options: Any) -> None:
        if key != self._throttle.key:
            self._cache.set(key, value, *more, **options)
        elif isinstance(value, list):
            self._throttle.write(value)

    def __contains__(self, key: Any) -> bool:
        return bool(self._throttle.stored_history) if key == self._throttle.key else key in self._cache

    has_key = __contains__

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cache, name)


def used(part: Decision | None, limit: int) -> int:
    """How many units count by this part of a decision, of a `limit` which need not be the one that has decided: so many are
    left of it."""
    if part is None or part.remaining is None:
        return 0
    return max(0, limit - part.remaining)


def times(part: Decision | None, limit: int, duration_s: float, now_s: float) -> list[float]:
    """When these units came, newest first. A decision knows how many there are and when the oldest leaves; the others are
    spread evenly between that and now."""
    count = used(part, limit)
    if part is None or not count:
        return []
    oldest_s = now_s - duration_s + (part.retry_after or part.reset_after or 0.0)
    step_s = (now_s - oldest_s) / max(1, count - 1)
    return [oldest_s + step_s * place for place in reversed(range(count))]


def charged(part: Decision | None) -> int:
    """How many units the request was charged by this part of its decision."""
    if part is None or part.check is None or all(answer.charged_at_ms < 0 for answer in part.windows):
        return 0
    return part.check.cost


def is_counted(part: Decision | None) -> bool:
    """Whether the request is charged by this part, or will be by its answer."""
    return charged(part) > 0 or (part is not None and part.check is not None and part.check.only_looks)
