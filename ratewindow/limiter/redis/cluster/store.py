"""The stores on a Redis Cluster: the checks of one client are one call, those of several are agreed on."""

import asyncio
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, cast

import redis.asyncio
from redis.connection import ConnectionPool
from redis.exceptions import (
    AskError,
    ConnectionError as RedisConnectionError,
    MovedError,
    NoScriptError,
    RedisError,
    TryAgainError,
)

from ratewindow.limiter.redis import faults
from ratewindow.limiter.redis.cluster import rounds
from ratewindow.limiter.redis.cluster.pipelines import MOST_HOPS, TRY_AGAIN_S, Address, Lanes, Slots, as_redis_errors, name_of
from ratewindow.limiter.redis.commands import Call, ServerClock, decide_call
from ratewindow.limiter.redis.connections import Server
from ratewindow.limiter.redis.faults import Concerns, ServerAway, Watch
from ratewindow.limiter.redis.pipeline import time_limit
from ratewindow.limiter.redis.store import expect
from ratewindow.limiter.redis.thread_deadline import limited, running, timed
from ratewindow.limiter.reply import Reply, parse
from ratewindow.limiter.types import Check, Flag, Refunds, What, Window

RENEW_S = 2.0  # an answer that drips in would never end


class ClusterStore:
    """Counts on a Redis Cluster, reached by a ``redis.RedisCluster``.

    Of the client the store takes the map of the slots and the options of connections; calls go over connections
    of the store's own, and nothing is repeated but what a server says it has not run: redirections are followed.
    With `limit_s` a decision takes no longer, connecting and all rounds included. `watch` says which servers
    are not to be called, and learns what happened to each. After a failure the store reads the map of slots again,
    unless there is a watch, which does that in the background.

    The keys of one check must share a hash tag, as `Limiter` makes them. With several clients in one request no
    window ever exceeds its limit, but a request that loses a race for the last unit holds units of the others for
    a moment, or their period if its process dies then.
    """

    is_async = False

    def __init__(self, client: redis.RedisCluster, limit_s: float | None = None, watch: Watch | None = None) -> None:
        expect(client, "ClusterStore")
        self._client = client
        self._limit_s = limit_s
        self._watch = watch or Watch()
        self._alone = watch is None
        self._slots = Slots(client)
        self._servers: dict[Address, Server] = {}
        self.clock = ServerClock()
        self._stale = False

    def run(self, checks: list[Check], what: What, now_ms: int | None = None) -> Reply:
        """What ``lua/decide.lua`` answers."""
        with limited(self._limit_s):
            return cast("Reply", self._hold(rounds.decide(checks, what, now_ms)))

    def refund(self, refunds: Refunds, now_ms: int | None = None, flag: Flag | None = None) -> None:
        """Refund the cost of each check, at the times it was charged; also set the key of `flag`."""
        with limited(self._limit_s):
            self._hold(rounds.refund(refunds, now_ms, flag))

    def reset(self, keys: Sequence[str]) -> None:
        """Forget these states."""
        with limited(self._limit_s):
            for key in keys:
                self._at_home(key, lambda server, asking, key=key: server.command("UNLINK", key, asking=asking))  # type: ignore[misc]

    def close(self) -> None:
        """Close the store's connections; the next call opens a new one."""
        for server in list(self._servers.values()):
            server.close()

    def __del__(self) -> None:
        if hasattr(self, "_servers"):
            self.close()  # the client that was given does not know of them

    def renew(self) -> None:
        """Read the map of slots again: in the time of a running decision, or else in that of background work."""
        self._stale = False
        with as_redis_errors(), limited(RENEW_S):
            self._client.nodes_manager.initialize()
        self._slots.renewed()

    def servers(self) -> list[str]:
        """The names of those that have slots."""
        return [name_of(address) for address in self._slots.servers()]

    def probe(self, server: str, name: str) -> None:
        """Decide something at one server, under a key of that name; nothing when it has no slots any more."""
        host, _, port = server.rpartition(":")
        address = host, int(port)
        if (key := self._slots.key_at(address, name)) is not None:
            checks = [Check("probe", (Window(1_000_000, 1000),), (key,))]
            with limited(self._limit_s):
                self._server(address).call(decide_call(checks, "hit", None))

    def _hold(self, conversation: rounds.Conversation) -> Any:
        try:
            calls = next(conversation)
            while True:
                try:
                    replies = self._send(calls)
                except Exception as error:
                    calls = conversation.throw(error)
                else:
                    calls = conversation.send(replies)
        except StopIteration as end:
            return end.value

    def _send(self, calls: list[Call]) -> list[Any]:
        if self._stale and self._alone:
            self.renew()
        if len(calls) == 1:
            return [self._call(calls[0])]
        homes = [self._open(self._home(call.key)) for call in calls]  # before anybody is asked
        begun: list[Any] = []
        for home, call in zip(homes, calls, strict=True):
            try:
                begun.append(self._server(home).begin(call))
            except (RedisError, OSError) as error:
                begun.append(error)
        replies: list[Any] = []
        for home, end in zip(homes, begun, strict=True):
            try:
                if isinstance(end, Exception):
                    raise end
                replies.append(end())
                self._watch.succeeded(name_of(home))
            except AskError as error:  # MovedError is one
                self._note(error, home)
                replies.append(error)
            except (NoScriptError, TryAgainError) as error:
                replies.append(error)
            except (RedisError, OSError) as error:
                refused = self.clock.may_be_refused(error)  # then asking again, by one call alone, finds out
                replies.append(NoScriptError() if refused else self._failed(home, error))
        for reply in replies:
            if isinstance(reply, Exception) and not isinstance(reply, NoScriptError | AskError | TryAgainError):
                raise reply
        return [self._call(call) if isinstance(reply, Exception) else reply for call, reply in zip(calls, replies, strict=True)]

    def _call(self, call: Call) -> Any:
        return self._at_home(call.key, lambda server, asking: server.call(call, asking))

    def _at_home(self, key: str, ask: Callable[[Server, bool], Any]) -> Any:
        """The answer of this key's server, which other servers may redirect to; a redirected call has not run."""
        home, asking = self._home(key), False
        for hop in range(MOST_HOPS):
            self._open(home)
            try:
                reply = ask(self._server(home), asking)
            except AskError as error:
                home, asking = self._note(error, home), not isinstance(error, MovedError)
            except TryAgainError as error:  # a slot on its way, whose keys are partly here and partly there
                if hop == MOST_HOPS - 1 or (running.until_s and time.monotonic() + TRY_AGAIN_S > running.until_s):
                    raise self._failed(home, error) from error
                time.sleep(TRY_AGAIN_S)
                asking = False
                home = self._slots.home(key)
            except (RedisError, OSError) as error:
                raise self._failed(home, error) from error
            else:
                self._watch.succeeded(name_of(home))
                return reply
        raise RedisConnectionError(f"the servers of the cluster send each other the slot of {key}")

    def _note(self, error: AskError, home: Address) -> Address:
        to = self._slots.redirected_to(error, home)
        if isinstance(error, MovedError):
            self._slots.move(error.slot_id, to)
        return to

    def _open(self, home: Address) -> Address:
        fault = self._watch.away(name_of(home))
        if fault is not None:
            raise ServerAway(name_of(home), fault)
        return home

    def _home(self, key: str) -> Address:
        try:
            return self._slots.home(key)
        except RedisConnectionError:
            self._stale = True
            raise

    def _failed(self, home: Address, error: Exception) -> Exception:
        """What to raise: an error that concerns more than one client is that of a server, and reported to the watch."""
        fault = faults.of(error)
        if fault.concerns is not Concerns.SERVER:
            return error
        self._stale = True
        self._watch.failed(name_of(home), error)
        return ServerAway(name_of(home), fault.name, error)

    def _server(self, address: Address) -> Server:
        server = self._servers.get(address)
        if server is None:
            server = self._servers.setdefault(address, Server(self._pool(address), self.clock))
        return server

    def _pool(self, address: Address) -> ConnectionPool:
        """Connections as the client has them, to a server that it may not know of."""
        like = self._client.get_redis_connection(next(iter(self._client.nodes_manager.nodes_cache.values()))).connection_pool
        options = {**like.connection_kwargs, "host": address[0], "port": address[1]}
        kind = like.connection_class
        if self._limit_s is not None:
            kind = timed(kind)
            options |= {"socket_timeout": self._limit_s, "socket_connect_timeout": self._limit_s}
        return ConnectionPool(kind, **options)


class AsyncClusterStore:
    """`ClusterStore` for asyncio, on a ``redis.asyncio.RedisCluster`` of the running event loop.

    Decisions that wait for the same server at the same moment share one pipeline on one connection, which the
    client closes with its others.
    """

    is_async = True

    def __init__(self, client: redis.asyncio.RedisCluster, limit_s: float | None = None, watch: Watch | None = None) -> None:
        expect(client, "AsyncClusterStore")
        self._lanes = Lanes(client, limit_s, watch or Watch())
        self.clock = self._lanes.clock
        self._limit_s = limit_s

    def run(self, checks: list[Check], what: What, now_ms: int | None = None) -> "asyncio.Future[Reply]":
        if rounds.in_one_slot(checks):  # the usual case, without a task of its own
            return self._lanes.call(decide_call(checks, what, now_ms), partial(parse, checks, what=what))
        return self._begin(rounds.decide(checks, what, now_ms))

    def refund(self, refunds: Refunds, now_ms: int | None = None, flag: Flag | None = None) -> "asyncio.Future[list[int]]":
        return self._begin(rounds.refund(refunds, now_ms, flag))

    async def reset(self, keys: Sequence[str]) -> None:
        with as_redis_errors():
            async with time_limit(self._limit_s):
                for key in keys:
                    await self._lanes.client.unlink(key)

    def _begin(self, conversation: rounds.Conversation) -> "asyncio.Future[Any]":
        """The reply. A caller that stops waiting does not end the conversation, which may have units to refund."""
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._lanes.follow(self._hold(conversation, answer))
        return answer

    async def _hold(self, conversation: rounds.Conversation, answer: "asyncio.Future[Any]") -> None:
        try:
            async with time_limit(self._limit_s):  # of all rounds; each server's silence is reported by its lane
                reply = await self._rounds(conversation)
            if not answer.done():
                answer.set_result(reply)
        except TimeoutError as error:
            if not answer.done():
                answer.set_exception(ServerAway("several servers together", "timeout", error))
        except Exception as error:
            if not answer.done():
                answer.set_exception(error)
        finally:
            answer.cancel()

    async def _rounds(self, conversation: rounds.Conversation) -> Any:
        try:
            calls = next(conversation)
            while True:
                for call in calls:
                    self._lanes.check(call)  # before anybody is asked
                replies: list[Any] = await asyncio.gather(*map(self._lanes.call, calls), return_exceptions=True)
                failed = next((reply for reply in replies if isinstance(reply, BaseException)), None)
                calls = conversation.throw(failed) if failed else conversation.send(replies)
        except StopIteration as end:
            return end.value
