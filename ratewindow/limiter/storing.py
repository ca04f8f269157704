"""The store for a client of redis-py, of whichever kind it is."""

from typing import Any

import redis
import redis.asyncio

from ratewindow.limiter.cluster_store import AsyncClusterStore, ClusterStore
from ratewindow.limiter.redis_store import AsyncRedisStore, RedisStore


def store_for(client: Any) -> RedisStore | ClusterStore:
    """For a client that is not asynchronous."""
    return ClusterStore(client) if isinstance(client, redis.RedisCluster) else RedisStore(client)


def astore_for(client: Any) -> AsyncRedisStore | AsyncClusterStore:
    """For one of ``redis.asyncio``."""
    return AsyncClusterStore(client) if isinstance(client, redis.asyncio.RedisCluster) else AsyncRedisStore(client)
