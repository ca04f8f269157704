"""redis-py clients for each kind of address, sync and async."""

from typing import Any, cast

import redis
import redis.asyncio
from redis.asyncio.connection import SSLConnection as AsyncSSLConnection
from redis.connection import Connection, SSLConnection, parse_url
from redis.sentinel import SentinelManagedConnection, SentinelManagedSSLConnection

from ratewindow.limiter.redis.thread_deadline import timed
from ratewindow.limiter.redis.tls import prepared
from ratewindow.store.cluster_client import ClusterClient
from ratewindow.store.sentinels import AsyncSentinels, Sentinels
from ratewindow.store.url import Server


def connect(server: Server, extra: dict[str, Any], own: dict[str, Any]) -> redis.Redis:
    """A client; options in `own` replace those of the address and those in `extra`. It connects at the first command.

    Its connections, also those to Sentinels, keep to the time limit of a running decision. For a cluster it is a
    `ClusterClient`, which has the same commands.
    """
    options = {**server.options, **extra, **own}
    for_sentinels = _for_sentinels(server, options.pop("sentinel_kwargs", {}), own)
    match server.kind:
        case "plain":
            usual = options.pop("connection_class", parse_url(server.url).get("connection_class", Connection))
            return redis.Redis.from_url(server.url, **options, connection_class=timed(usual))
        case "sentinel":
            usual = SentinelManagedSSLConnection if options.get("ssl") else SentinelManagedConnection
            manager: Any = Sentinels(server.nodes, sentinel_kwargs=for_sentinels)  # type: ignore[no-untyped-call]
            for each in manager.sentinels:
                each.connection_pool.connection_class = timed(each.connection_pool.connection_class)
            return cast("redis.Redis", manager.master_for(server.service, **options, connection_class=timed(usual)))
        case "cluster":
            options |= _share(own, len(server.nodes))
            options.pop("db", None)
            return cast("redis.Redis", ClusterClient(server.nodes, **options))


def aconnect(server: Server, extra: dict[str, Any], own: dict[str, Any]) -> redis.asyncio.Redis:
    """`connect` for the running event loop.

    Its connections have no time limit: the caller sets one, since theirs would include the lag of the loop.
    """
    options = {**server.options, **extra, **own, "socket_timeout": None, "socket_connect_timeout": None}
    for_sentinels = _for_sentinels(server, options.pop("sentinel_kwargs", {}), own)
    match server.kind:
        case "plain":
            return _prepared(redis.asyncio.Redis.from_url(server.url, **options))
        case "sentinel":
            manager: Any = AsyncSentinels(server.nodes, sentinel_kwargs=for_sentinels)  # type: ignore[no-untyped-call]
            for each in manager.sentinels:
                _prepared(each)
            return _prepared(manager.master_for(server.service, **options))
        case "cluster":
            options |= _share(own, 1)  # a server that takes longer than half of the limit cannot be connected to within it anyway
            options.pop("db", None)
            nodes = [redis.asyncio.cluster.ClusterNode(host, port) for host, port in server.nodes]
            made = redis.asyncio.RedisCluster(startup_nodes=nodes, **options)
            kind = made.connection_kwargs.get("connection_class", Connection)
            if issubclass(kind, AsyncSSLConnection):
                made.connection_kwargs["connection_class"] = prepared(kind)  # of servers that it discovers
                for node in made.nodes_manager.startup_nodes.values():
                    node.connection_class = prepared(kind)
            return cast("redis.asyncio.Redis", made)


def _prepared(client: redis.asyncio.Redis) -> redis.asyncio.Redis:
    pool = client.connection_pool
    if issubclass(pool.connection_class, AsyncSSLConnection):
        pool.connection_class = prepared(cast("type", pool.connection_class))
    return client


def refuse_bad_options(server: Server, extra: dict[str, Any]) -> None:
    """Make a connection of each kind without opening it, since only then redis-py raises for options that it does not know."""
    own = {"protocol": 2}
    if server.kind == "cluster":
        options = {**server.options, **extra, **own}
        (SSLConnection if options.pop("ssl", False) else Connection)(**options)
        return
    pool = connect(server, extra, own).connection_pool
    for each in (pool, *(sentinel.connection_pool for sentinel in _sentinels(pool))):
        each.make_connection()


def _for_sentinels(server: Server, extra: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    return {**server.sentinel_options, **extra, **own, **_share(own, len(server.nodes))}


def _share(own: dict[str, Any], servers: int) -> dict[str, Any]:
    """The time limits of one of several servers that are tried in turn: a silent one must leave time for the next."""
    if not own.get("socket_timeout"):
        return {}
    share_s = own["socket_timeout"] / (servers + 1)
    return {"socket_timeout": share_s, "socket_connect_timeout": share_s}


async def aclose(client: redis.asyncio.Redis) -> None:
    """Close a client and its clients of Sentinels."""
    await client.aclose()
    for sentinel in _sentinels(getattr(client, "connection_pool", None)):
        await sentinel.aclose()


def _sentinels(pool: Any) -> list[Any]:
    manager = getattr(pool, "sentinel_manager", None)
    return manager.sentinels if manager else []
