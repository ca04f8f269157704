"""The rate limiting engine, usable without Django."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ratewindow.limiter.counter import SlidingCounter
    from ratewindow.limiter.limiter import Limiter, ais_action_allowed, is_action_allowed
    from ratewindow.limiter.memory import MemoryStore
    from ratewindow.limiter.redis.cluster.store import AsyncClusterStore, ClusterStore
    from ratewindow.limiter.redis.store import AsyncRedisStore, RedisStore
    from ratewindow.limiter.types import Decision, Window

__all__ = [
    "AsyncClusterStore",
    "AsyncRedisStore",
    "ClusterStore",
    "Decision",
    "Limiter",
    "MemoryStore",
    "RedisStore",
    "SlidingCounter",
    "Window",
    "ais_action_allowed",
    "is_action_allowed",
]

_HOMES = {
    "AsyncClusterStore": "redis.cluster.store",
    "AsyncRedisStore": "redis.store",
    "ClusterStore": "redis.cluster.store",
    "Decision": "types",
    "Limiter": "limiter",
    "MemoryStore": "memory",
    "RedisStore": "redis.store",
    "SlidingCounter": "counter",
    "Window": "types",
    "ais_action_allowed": "limiter",
    "is_action_allowed": "limiter",
}

if not TYPE_CHECKING:  # which would believe that there is any name at all

    def __getattr__(name: str) -> Any:
        """Imported on first use: few sites have a Cluster."""
        if name in _HOMES:
            found = globals()[name] = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
            return found
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
