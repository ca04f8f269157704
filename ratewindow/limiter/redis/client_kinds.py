"""Which store a client of redis-py is for, and the error for anything else that a store was given."""

from typing import Any

import redis.asyncio

_MAKING = {
    "RedisStore": "RedisStore(redis.Redis.from_url(url))",
    "AsyncRedisStore": "AsyncRedisStore(redis.asyncio.Redis.from_url(url))",
    "ClusterStore": "ClusterStore(redis.RedisCluster.from_url(url))",
    "AsyncClusterStore": "AsyncClusterStore(redis.asyncio.RedisCluster.from_url(url))",
}


def store_name(client: Any) -> str | None:
    """The name of the store for this client; None for anything but a client."""
    asynchronous = "Async" if isinstance(client, redis.asyncio.Redis | redis.asyncio.RedisCluster) else ""
    if hasattr(client, "nodes_manager"):
        return f"{asynchronous}ClusterStore"
    return f"{asynchronous}RedisStore" if hasattr(client, "connection_pool") else None


def expect(client: Any, store: str) -> None:
    """TypeError, which says what to write instead, unless this is a client for the store of that name.

    It names only the type of the value, whose address may contain a password.
    """
    right, kind = store_name(client), type(client)
    if right is None:
        raise TypeError(f"{kind.__name__} is not a client of redis-py: write {_MAKING[store]}")
    if right != store:
        raise TypeError(f"{kind.__module__}.{kind.__name__} is not a client for {store}: give it to {right}")
