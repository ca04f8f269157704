"""Clients of redis-py, sync and async, by the address of a Redis: one server, a Cluster, or the master that Sentinels name.

``redis://``, ``rediss://`` and ``unix://`` are redis-py's own. The others list several nodes:

``redis+cluster://[user:password@]host[:port][,host[:port]...][?option=...]``
    some nodes of the cluster, from which the others are discovered
``redis+sentinel://[user:password@]host[:port][,host[:port]...]/service[/db][?option=...]``
    the Sentinels, and the name under which they know the master; user and password are the master's,
    those of the Sentinels are the options ``sentinel_username`` and ``sentinel_password``

With ``rediss`` instead of ``redis`` all connections use TLS.
"""

import asyncio
import re
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal, cast
from urllib.parse import parse_qsl, unquote, urlencode

import redis.asyncio
from redis.asyncio.connection import SSLConnection as AsyncSSLConnection
from redis.asyncio.sentinel import Sentinel as AsyncSentinel
from redis.connection import Connection, SSLConnection, parse_url
from redis.sentinel import Sentinel, SentinelManagedConnection, SentinelManagedSSLConnection

from ratewindow.limiter.redis.thread_deadline import timed

Kind = Literal["plain", "cluster", "sentinel"]

_NODE = r"(?:\[[0-9A-Fa-f:.]+\]|[^\s:\[\]@,/]+)(?::\d{1,5})?"
_SECRET, _NODES = r"(?P<secret>[^/\s]*@)?", rf"(?P<nodes>{_NODE}(?:,{_NODE})*)"
# What follows the scheme of each kind, and how it is written.
_FORMS: dict[str, tuple[Kind, str, str]] = {
    "": ("plain", rf"{_SECRET}(?:{_NODE})?(?:/\d*)?/?", "redis://[user:password@]host[:port][/database]"),
    "cluster": ("cluster", rf"{_SECRET}{_NODES}/?0?", "redis+cluster://[user:password@]host[:port][,host[:port]...]"),
    "sentinel": (
        "sentinel",
        rf"{_SECRET}{_NODES}/(?P<service>[^/\s]+)(?:/(?P<db>\d*))?",
        "redis+sentinel://[user:password@]host[:port][,host[:port]...]/service[/database]",
    ),
}
_PORTS = {"cluster": 6379, "sentinel": 26379}


@dataclass(frozen=True)
class Server:
    """A parsed address: one URL for redis-py, or several nodes and the options of connections."""

    kind: Kind
    url: str = ""
    nodes: tuple[tuple[str, int], ...] = ()
    service: str = ""
    options: dict[str, Any] = field(default_factory=dict)  # of connections to the nodes of a cluster, or to the master
    sentinel_options: dict[str, Any] = field(default_factory=dict)


def parse(url: str, without: frozenset[str] = frozenset()) -> Server:
    """Parse an address without the options named in `without`. ValueError says what is wrong, and quotes no password."""
    scheme, _, rest = url.partition("://")
    rest, _, query = rest.partition("?")
    options = [(name, value) for name, value in parse_qsl(query) if name.removeprefix("sentinel_") not in without]
    if scheme == "unix":
        return _plain(f"unix://{rest}", options)
    base, _, form = scheme.partition("+")
    if base not in ("redis", "rediss") or form not in _FORMS:
        raise ValueError("its scheme is none of redis://, rediss://, unix://, redis+cluster:// and redis+sentinel://")
    kind, pattern, written = _FORMS[form]
    match = re.fullmatch(pattern, rest)
    if match is None:
        raise ValueError(f"it does not have the form {written}; a / in a password is written as %2F")
    if kind == "plain":
        return _plain(f"{scheme}://{rest}", options)
    own = [(name, value) for name, value in options if not name.startswith("sentinel_")]
    theirs = [(name.removeprefix("sentinel_"), value) for name, value in options if name.startswith(("sentinel_", "ssl_"))]
    parts = match.groupdict()
    return Server(
        kind,
        nodes=tuple(_node(node, _PORTS[kind]) for node in parts["nodes"].split(",")),
        service=unquote(parts.get("service") or ""),
        options=_options(f"{base}://{parts['secret'] or ''}node/{parts.get('db') or ''}", own),
        sentinel_options=_options(f"{base}://node", theirs),
    )


def _plain(base: str, options: list[tuple[str, str]]) -> Server:
    url = _with_query(base, options)
    parse_url(url)
    return Server("plain", url)


def _with_query(base: str, options: list[tuple[str, str]]) -> str:
    return f"{base}?{urlencode(options)}" if options else base


def _options(url: str, options: list[tuple[str, str]]) -> dict[str, Any]:
    """The options that redis-py reads from an address, for a client that is not made from one."""
    parsed = parse_url(_with_query(url, options)).items()
    found = {name: value for name, value in parsed if name not in ("host", "port", "connection_class")}
    return found | ({"ssl": True} if url.startswith("rediss") else {})


def _node(text: str, usual_port: int) -> tuple[str, int]:
    host, _, port = text.rpartition(":") if re.search(r":\d+$", text) and not text.endswith("]") else (text, "", "")
    return host.strip("[]"), int(port or usual_port)


def connect(server: Server, extra: dict[str, Any], own: dict[str, Any]) -> redis.Redis:
    """A client; options in `own` replace those of the address and those in `extra`. It connects at the first command.

    Its connections, also those to Sentinels, keep to the time limit of a running decision. For a cluster it is a
    `ClusterClient`, which has the same commands.
    """
    options = {**server.options, **extra, **own}
    match server.kind:
        case "plain":
            usual = options.pop("connection_class", parse_url(server.url).get("connection_class", Connection))
            return redis.Redis.from_url(server.url, **options, connection_class=timed(usual))
        case "sentinel":
            usual = SentinelManagedSSLConnection if options.get("ssl") else SentinelManagedConnection
            manager: Any = Sentinel(server.nodes, sentinel_kwargs=_for_sentinels(server, own))
            for each in manager.sentinels:
                each.connection_pool.connection_class = timed(each.connection_pool.connection_class)
            return cast("redis.Redis", manager.master_for(server.service, **options, connection_class=timed(usual)))
        case "cluster":
            options |= _share(own, len(server.nodes))
            options.pop("db", None)
            from ratewindow.store.cluster_client import ClusterClient  # few sites have one

            return cast("redis.Redis", ClusterClient(server.nodes, **options))


def aconnect(server: Server, extra: dict[str, Any], own: dict[str, Any]) -> redis.asyncio.Redis:
    """`connect` for the running event loop.

    Its connections have no time limit: the caller sets one, since theirs would include the lag of the loop.
    """
    options = {**server.options, **extra, **own, "socket_timeout": None, "socket_connect_timeout": None}
    match server.kind:
        case "plain":
            return _prepared(redis.asyncio.Redis.from_url(server.url, **options))
        case "sentinel":
            manager: Any = AsyncSentinel(server.nodes, sentinel_kwargs=_for_sentinels(server, own))
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


def _for_sentinels(server: Server, own: dict[str, Any]) -> dict[str, Any]:
    return {**server.sentinel_options, **own, **_share(own, len(server.nodes))}


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


@cache
def prepared(connection_class: type) -> type:
    """The same class of connections of redis.asyncio: what a handshake needs is not read on the event loop."""
    return type(connection_class.__name__, (_Prepared, connection_class), {})


class _Prepared:
    ssl_context: Any

    async def _connect(self) -> None:
        await asyncio.to_thread(self.ssl_context.get)  # which keeps what it has read
        await super()._connect()  # type: ignore[misc]
