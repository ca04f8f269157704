"""The store for a client of redis-py, of whichever kind it is."""

from typing import Any

import redis
import redis.asyncio

from ratewindow.limiter.redis.client_kinds import store_name
from ratewindow.limiter.redis.cluster.store import AsyncClusterStore, ClusterStore
from ratewindow.limiter.redis.faults import Watch
from ratewindow.limiter.redis.store import AsyncRedisStore, RedisStore

AnyClient = redis.Redis | redis.RedisCluster | redis.asyncio.Redis | redis.asyncio.RedisCluster

_STORES: dict[str, Any] = {store.__name__: store for store in (RedisStore, AsyncRedisStore, ClusterStore, AsyncClusterStore)}


def store_of(given: Any) -> Any:
    """A store as it is, and a client as the store that calls it; TypeError for anything else."""
    if hasattr(given, "run") and not isinstance(given, type):
        return given
    name = store_name(given)
    if name is None:
        kind = given.__name__ if isinstance(given, type) else type(given).__name__
        raise TypeError(f"{kind} is not a store: give MemoryStore(), or a client of redis-py or its store, as RedisStore(client)")
    return _STORES[name](given)


def store_for(client: Any, limit_s: float | None = None, watch: Watch | None = None) -> RedisStore | ClusterStore:
    """For a client that is not asynchronous; one of a single server has its limit in the client's own connections."""
    return ClusterStore(client, limit_s, watch) if isinstance(client, redis.RedisCluster) else RedisStore(client)


def astore_for(client: Any, limit_s: float | None = None, watch: Watch | None = None) -> AsyncRedisStore | AsyncClusterStore:
    """For one of ``redis.asyncio``."""
    if isinstance(client, redis.asyncio.RedisCluster):
        return AsyncClusterStore(client, limit_s, watch)
    return AsyncRedisStore(client, limit_s)
