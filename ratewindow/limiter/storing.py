"""The store for a client of redis-py, of whichever kind it is."""

from typing import Any

import redis
import redis.asyncio

from ratewindow.limiter.cluster_store import AsyncClusterStore, ClusterStore
from ratewindow.limiter.faults import Watch
from ratewindow.limiter.redis_store import AsyncRedisStore, RedisStore


def store_for(client: Any, limit_s: float | None = None, watch: Watch | None = None) -> RedisStore | ClusterStore:
    """For a client that is not asynchronous; one of a single server has its limit in the client's own connections."""
    return ClusterStore(client, limit_s, watch) if isinstance(client, redis.RedisCluster) else RedisStore(client)


def astore_for(client: Any, limit_s: float | None = None, watch: Watch | None = None) -> AsyncRedisStore | AsyncClusterStore:
    """For one of ``redis.asyncio``."""
    if isinstance(client, redis.asyncio.RedisCluster):
        return AsyncClusterStore(client, limit_s, watch)
    return AsyncRedisStore(client, limit_s)
