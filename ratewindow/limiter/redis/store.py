"""The stores on a Redis server: one call decides a request, whatever it meets."""

from collections.abc import Sequence
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING

from redis.exceptions import NoScriptError, ResponseError

from ratewindow.limiter.redis.client_kinds import expect
from ratewindow.limiter.redis.commands import decide_call, packed_decide, refund_call
from ratewindow.limiter.redis.connections import Server
from ratewindow.limiter.redis.loop_deadline import time_limit
from ratewindow.limiter.redis.pipeline import Pipelined
from ratewindow.limiter.reply import Reply, length, parse
from ratewindow.limiter.types import Check, Refunds, What

if TYPE_CHECKING:
    import asyncio

    import redis
    import redis.asyncio


class RedisStore:
    """Counts on one Redis or Valkey server, reached as the given client would.

    The client's options say how long a call may take: give it short timeouts. Nothing is repeated here: a
    call whose answer was lost may have counted. The store keeps connections of its own, one for each thread that
    asks at the same moment, made as the client makes its own; those of the client are left to it. They are
    closed with the store, and after half a minute of no use all but one, but not with the client. Where the
    client's connections are `timed`, their timeout is that of the whole call, connecting included.
    """

    is_async = False

    def __init__(self, client: "redis.Redis") -> None:
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

    def refund(self, refunds: Refunds, now_ms: int | None = None) -> None:
        """Refund the cost of each check, at the times it was charged."""
        self._server.call(refund_call(refunds, now_ms))

    def reset(self, keys: Sequence[str]) -> None:
        """Forget these states."""
        self._server.command("UNLINK", *keys)

    def close(self) -> None:
        """Close the store's connections; the next call opens a new one."""
        self._server.close()

    def close_unused(self, unused_s: float) -> None:
        """Close connections that no thread has needed for so long, but one."""
        self._server.close_unused(unused_s)

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

    def __init__(self, client: "redis.asyncio.Redis", limit_s: float | None = None) -> None:
        expect(client, "AsyncRedisStore")
        self._pipelined = Pipelined(client.connection_pool, limit_s)
        self.clock = self._pipelined.clock
        self._client = client
        self._limit_s = limit_s

    def run(self, checks: list[Check], what: What, now_ms: int | None = None) -> "asyncio.Future[Reply]":
        usual = None if self.clock.is_hosts else packed_decide(checks, what, now_ms)
        packed, parts = usual or (None, length(checks, what))
        return self._pipelined.call(lambda: decide_call(checks, what, now_ms), parts, packed, partial(parse, checks, what=what))

    def refund(self, refunds: Refunds, now_ms: int | None = None) -> "asyncio.Future[list[int]]":
        call = refund_call(refunds, now_ms)
        return self._pipelined.call(lambda: call, call.parts)

    async def reset(self, keys: Sequence[str]) -> None:
        async with time_limit(self._limit_s):
            await self._client.unlink(*keys)
