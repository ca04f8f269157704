"""The stores on a Redis server: one call decides a request, whatever it meets."""

import asyncio
import os
from collections.abc import Sequence
from time import monotonic
from typing import TYPE_CHECKING, Any

from redis.exceptions import NoScriptError, ReadOnlyError, RedisError, ResponseError

from ratewindow.limiter.exchange import exchange
from ratewindow.limiter.pipelined import Pipelined
from ratewindow.limiter.types import Check
from ratewindow.limiter.wire import Call, Refunds, What, decide_call, packed, packed_decide, refund_call

if TYPE_CHECKING:
    import redis
    import redis.asyncio

IDLE_S = 1.0  # a connection that rested longer may have been closed by the server


class RedisStore:
    """Counts on one Redis or Valkey server, reached as the given client would.

    The client's options say how long a call may take: give it short timeouts. Nothing is repeated here: a
    call whose answer was lost may have counted. The store keeps connections of its own, one for each thread
    that asks at the same moment, since what a client does around a call takes as long as the call.
    """

    is_async = False

    def __init__(self, client: "redis.Redis") -> None:
        self._idle: list[tuple[Any, float]] = []  # pop and append are atomic: no lock
        self._client = _of_one_server(client)
        self._pid = os.getpid()

    def run(self, checks: list[Check], what: What, now_ms: int | None = None) -> list[int]:
        """The reply of ``lua/decide.lua``."""
        usual = packed_decide(checks, what, now_ms)
        if usual is not None:
            try:
                return self._exchange(usual)
            except NoScriptError:
                pass  # `_call` meets it again, and sends the script
        return self._call(decide_call(checks, what, now_ms))

    def refund(self, refunds: Refunds, now_ms: int | None = None) -> None:
        """Give back the cost of each check, to the times it was charged at."""
        self._call(refund_call(refunds, now_ms))

    def reset(self, keys: Sequence[str]) -> None:
        """Forget these states."""
        self._client.unlink(*keys)

    def close(self) -> None:
        """Close the store's connections; the next call opens one anew."""
        while self._idle:
            self._discard(self._idle.pop()[0])

    __del__ = close  # the client that was given does not know of them

    def _call(self, call: Call) -> list[int]:
        try:
            return self._exchange(packed(call.by_sha()))
        except NoScriptError:  # a server that was started anew, or whose scripts were flushed
            return self._exchange(packed(call.in_full()))

    def _exchange(self, command: bytes) -> list[int]:
        now_s = monotonic()
        connection = self._connection(now_s)
        try:
            reply = exchange(connection, command)
        except ReadOnlyError:  # a demoted master: the address may lead to another one by now
            self._discard(connection)
            self.close()
            raise
        except ResponseError:  # an answer like any other: nothing is left on the line
            self._idle.append((connection, now_s))
            raise
        except BaseException:  # an answer may still come, and must not be taken for that of the next call
            self._discard(connection)
            raise
        self._idle.append((connection, now_s))
        return reply

    def _connection(self, now_s: float) -> Any:
        if self._pid != os.getpid():
            self._idle, self._pid = [], os.getpid()  # those of the parent are the parent's
        try:
            connection, used_s = self._idle.pop()
        except IndexError:
            return self._client.connection_pool.get_connection()
        if now_s - used_s > IDLE_S and _is_closed(connection):
            connection.disconnect()
            try:
                connection.connect()  # sending would, too, but without asking the Sentinels where to
            except BaseException:  # the pool shall have it back: it may give out so many and no more
                self._discard(connection)
                raise
        return connection

    def _discard(self, connection: Any) -> None:
        connection.disconnect()
        self._client.connection_pool.release(connection)


def _of_one_server(client: Any) -> Any:
    if not hasattr(client, "connection_pool"):
        raise TypeError(f"{type(client).__name__} is no client of one server: give that of a Cluster to ClusterStore")
    return client


def _is_closed(connection: Any) -> bool:
    """Whether there is something to read, though nothing was asked: the end, that is."""
    try:
        return bool(connection.can_read(timeout=0))
    except (RedisError, OSError):
        return True


class AsyncRedisStore:
    """`RedisStore` for asyncio, on a ``redis.asyncio`` client of the running event loop.

    Decisions that wait at the same moment share one pipeline on one connection.
    """

    is_async = True

    def __init__(self, client: "redis.asyncio.Redis") -> None:
        self._client = _of_one_server(client)
        self._pipelined = Pipelined(client)

    def run(self, checks: list[Check], what: What, now_ms: int | None = None) -> "asyncio.Future[list[int]]":
        usual = packed_decide(checks, what, now_ms)
        return self._pipelined.call(lambda: decide_call(checks, what, now_ms), usual)

    def refund(self, refunds: Refunds, now_ms: int | None = None) -> "asyncio.Future[None]":
        return self._pipelined.call(lambda: refund_call(refunds, now_ms))

    async def reset(self, keys: Sequence[str]) -> None:
        await self._client.unlink(*keys)
