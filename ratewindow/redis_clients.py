"""Clients of redis-py for every kind of address, sync and async, with options that are the caller's."""

from typing import Any, cast

import redis
import redis.asyncio
from redis.asyncio.sentinel import Sentinel as AsyncSentinel
from redis.cluster import ClusterNode
from redis.sentinel import Sentinel

from ratewindow.limiter.lanes import as_redis_errors
from ratewindow.redis_url import Server


class ClusterClient(redis.RedisCluster):
    """A cluster whose failures are RedisErrors, as those of a server are."""

    def execute_command(self, *args: Any, **kwargs: Any) -> Any:
        with as_redis_errors():
            return super().execute_command(*args, **kwargs)  # type: ignore[no-untyped-call]


def connect(server: Server, extra: dict[str, Any], own: dict[str, Any]) -> redis.Redis:
    """A client; `own` options win over those of the address and over `extra`. Only a cluster is asked at once, who it is.

    That of a cluster is a `ClusterClient`, which has the same commands.
    """
    options = {**server.options, **extra, **own}
    for_sentinels = {**server.sentinel_options, **options.pop("sentinel_kwargs", {}), **own}
    match server.kind:
        case "plain":
            return redis.Redis.from_url(server.url, **options)
        case "sentinel":
            return cast(
                "redis.Redis", Sentinel(server.nodes, sentinel_kwargs=for_sentinels).master_for(server.service, **options)
            )
        case "cluster":
            options.pop("db", None)
            nodes = [ClusterNode(host, port) for host, port in server.nodes]
            with as_redis_errors():
                return cast("redis.Redis", ClusterClient(startup_nodes=nodes, **options))


def aconnect(server: Server, extra: dict[str, Any], own: dict[str, Any]) -> redis.asyncio.Redis:
    """`connect` for the running event loop; nothing is asked before the first command."""
    options = {**server.options, **extra, **own}
    for_sentinels = {**server.sentinel_options, **options.pop("sentinel_kwargs", {}), **own}
    match server.kind:
        case "plain":
            return redis.asyncio.Redis.from_url(server.url, **options)
        case "sentinel":
            manager = AsyncSentinel(server.nodes, sentinel_kwargs=for_sentinels)
            return cast("redis.asyncio.Redis", manager.master_for(server.service, **options))
        case "cluster":
            options.pop("db", None)
            nodes = [redis.asyncio.cluster.ClusterNode(host, port) for host, port in server.nodes]
            return cast("redis.asyncio.Redis", redis.asyncio.RedisCluster(startup_nodes=nodes, **options))


async def aclose(client: redis.asyncio.Redis) -> None:
    """Close a client, and those of the Sentinels that it asks for its master."""
    await client.aclose()
    manager = getattr(getattr(client, "connection_pool", None), "sentinel_manager", None)
    for sentinel in manager.sentinels if manager else ():
        await sentinel.aclose()
