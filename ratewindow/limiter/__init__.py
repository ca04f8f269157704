"""The rate limiting engine, usable without Django."""

from ratewindow.limiter.actions import ais_action_allowed, is_action_allowed
from ratewindow.limiter.counter import SlidingCounter
from ratewindow.limiter.limiter import Limiter
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
