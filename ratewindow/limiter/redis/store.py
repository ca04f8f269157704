"""The stores on a Redis server, where one call decides a request, whatever it meets; and which store a client is for."""

import asyncio
from collections.abc import Sequence
from functools import partial
from importlib import import_module
from time import monotonic
from typing import Any

import redis.asyncio
from redis.exceptions import NoScriptError, ResponseError

from ratewindow.limiter.redis.commands import decide_call, packed_decide, refund_call
from ratewindow.limiter.redis.connections import Server
from ratewindow.limiter.redis.faults import Watch
from ratewindow.limiter.redis.pipeline import Pipelined, time_limit
from ratewindow.limiter.reply import Reply, length, parse
from ratewindow.limiter.types import Check, Flag, Refunds, What

AnyClient = redis.Redis | redis.RedisCluster | redis.asyncio.Redis | redis.asyncio.RedisCluster

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
    if right != store:
        remedy = f"give it to {right}" if right else f"write {_MAKING[store]}"
        raise TypeError(f"{kind.__module__}.{kind.__name__} is not a client for {store}: {remedy}")


def store_of(given: Any, limit_s: float | None = None, watch: Watch | None = None) -> Any:
    """A store as it is, and a client as the store that calls it; TypeError for anything else.

    A client of one server that is not asynchronous has the limit in its own connections.
    """
    if hasattr(given, "run") and not isinstance(given, type):
        return given
    name = store_name(given)
    if name is None:
        kind = given.__name__ if isinstance(given, type) else type(given).__name__
        raise TypeError(f"{kind} is not a store: give MemoryStore(), or a client of redis-py or its store, as RedisStore(client)")
    if "Cluster" in name:  # whose stores are imported where there is one
        return getattr(import_module("ratewindow.limiter"), name)(given, limit_s, watch)
    return AsyncRedisStore(given, limit_s) if name == "AsyncRedisStore" else RedisStore(given)


class RedisStore:
    """Counts on one Redis or Valkey server, reached as the given client would.

    The client's options say how long a call may take: give it short timeouts. Nothing is repeated here: a
    call whose answer was lost may have counted. The store keeps connections of its own, one for each thread that
    asks at the same moment, made as the client makes its own; those of the client are left to it. They are
    closed with the store, not with the client. Where the client's connections are `timed`, their timeout is that of the
    whole call, connecting included.
    """

    is_async = False

    def __init__(self, client: redis.Redis) -> None:
        expect(client, "RedisStore")
        self._client = client
        self._server = Server(client.connection_pool)
        self.clock = self._server.clock

    def run(self, checks: list[Check], what: What, now_ms: int | None = None) -> Reply:
        """What ``lua/decide.lua`` answers."""
        usual, since_s = packed_decide(checks, what, now_ms), monotonic()
        if usual is not None and not self.clock.is_hosts:
            try:
                return parse(checks, self._server.exchange(*usual, since_s), what)
            except ResponseError as error:
                if not isinstance(error, NoScriptError) and not self.clock.may_be_refused(error):
                    raise
                # What follows meets it again, and sends the script, or finds out whose clock decides.
        return parse(checks, self._server.call(decide_call(checks, what, now_ms), since_s=since_s), what)

    def refund(self, refunds: Refunds, now_ms: int | None = None, flag: Flag | None = None) -> None:
        """Refund the cost of each check, at the times it was charged; also set the key of `flag`."""
        self._server.call(refund_call(refunds, now_ms, flag))

    def reset(self, keys: Sequence[str]) -> None:
        """Forget these states."""
        self._server.command("UNLINK", *keys)

    def close(self) -> None:
        """Close the store's connections; the next call opens a new one."""
        self._server.close()

    def __del__(self) -> None:
        if hasattr(self, "_server"):
            self.close()  # the client that was given does not know of them


class AsyncRedisStore:
    """`RedisStore` for asyncio, on a ``redis.asyncio`` client of the running event loop; after this has ended it starts
    again in the next one.

    Decisions that wait at the same moment share one pipeline on one connection, which is the client's and is given
    back after each. With `limit_s`, whatever waits
    for longer fails, connecting included, and the loop's own lag is not counted; give the client no timeouts then.
    """

    is_async = True

    def __init__(self, client: redis.asyncio.Redis, limit_s: float | None = None) -> None:
        expect(client, "AsyncRedisStore")
        self._pipelined = Pipelined(client.connection_pool, limit_s)
        self.clock = self._pipelined.clock
        self._client = client
        self._limit_s = limit_s

    def run(self, checks: list[Check], what: What, now_ms: int | None = None) -> "asyncio.Future[Reply]":
        usual = None if self.clock.is_hosts else packed_decide(checks, what, now_ms)
        packed, parts = usual or (None, length(checks, what))
        return self._pipelined.call(lambda: decide_call(checks, what, now_ms), parts, packed, partial(parse, checks, what=what))

    def refund(self, refunds: Refunds, now_ms: int | None = None, flag: Flag | None = None) -> "asyncio.Future[list[int]]":
        call = refund_call(refunds, now_ms, flag)
        return self._pipelined.call(lambda: call, call.parts)

    async def reset(self, keys: Sequence[str]) -> None:
        async with time_limit(self._limit_s):
            await self._client.unlink(*keys)
