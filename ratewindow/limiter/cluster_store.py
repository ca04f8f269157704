"""The stores on a Redis Cluster: the checks of one client are one call, those of several are agreed on."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

from redis.cluster import PipelineCommand
from redis.exceptions import AskError, ClusterDownError, NoScriptError, TryAgainError
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError

from ratewindow.limiter import groups
from ratewindow.limiter.groups import Conversation
from ratewindow.limiter.lanes import Lanes, as_redis_errors
from ratewindow.limiter.types import Check
from ratewindow.limiter.wire import Call, Refunds, What, decide_call

if TYPE_CHECKING:
    import redis
    import redis.asyncio

_AWAY = (RedisConnectionError, RedisTimeoutError, ClusterDownError)
_NOT_RUN = (NoScriptError, AskError, TryAgainError)  # MovedError is an AskError


class ClusterStore:
    """Counts on a Redis Cluster, reached by a ``redis.RedisCluster``.

    Give it short timeouts and a `retry` without retries: a call that is repeated because its answer was lost
    counts twice. Redirections are followed. The keys of one check must share a hash tag, as `Limiter` makes
    them. With several clients in one request no window ever exceeds its limit, but a request that loses a
    race for the last unit holds units of the others for a moment, or their period if its process dies then.
    """

    is_async = False

    def __init__(self, client: "redis.RedisCluster") -> None:
        self._client = client

    def run(self, checks: list[Check], what: What, now_ms: int | None = None) -> list[int]:
        """The reply of ``lua/decide.lua``."""
        return cast("list[int]", self._hold(groups.decide(checks, what, now_ms)))

    def refund(self, refunds: Refunds, now_ms: int | None = None) -> None:
        """Give back the cost of each check, to the times it was charged at."""
        self._hold(groups.refund(refunds, now_ms))

    def reset(self, keys: Sequence[str]) -> None:
        """Forget these states."""
        with as_redis_errors():
            self._client.unlink(*keys)

    def close(self) -> None:
        """Close the client's connections; the next call opens one anew."""
        self._client.disconnect_connection_pools()

    def _hold(self, conversation: Conversation) -> Any:
        try:
            calls = next(conversation)
            while True:
                try:
                    with as_redis_errors():
                        replies = self._send(calls)
                except Exception as error:
                    calls = conversation.throw(error)
                else:
                    calls = conversation.send(replies)
        except StopIteration as end:
            return end.value

    def _send(self, calls: list[Call]) -> list[Any]:
        if len(calls) == 1:
            return [self._call(calls[0])]
        client = self._client
        commands = [
            PipelineCommand(call.by_sha(), {"target_nodes": client.get_node_from_key(call.key)}, place)
            for place, call in enumerate(calls)
        ]
        with client.pipeline() as pipe:
            # Not execute(), which sends again what timed out.
            replies = pipe.send_cluster_commands(commands, raise_on_error=False, allow_redirections=False)
        for reply in replies:
            if isinstance(reply, _AWAY):
                with suppress(Exception):  # the next call shall know who has taken over
                    client.nodes_manager.initialize()
            if isinstance(reply, Exception) and not isinstance(reply, _NOT_RUN):
                raise reply
        return [self._call(call) if isinstance(reply, Exception) else reply for call, reply in zip(calls, replies, strict=True)]

    def _call(self, call: Call) -> Any:
        try:
            return self._client.execute_command(*call.by_sha())
        except NoScriptError:  # a server that was started anew, or has not had this script yet
            return self._client.execute_command(*call.in_full())


class AsyncClusterStore:
    """`ClusterStore` for asyncio, on a ``redis.asyncio.RedisCluster`` of the running event loop.

    Decisions that wait for the same node at the same moment share one pipeline on one connection.
    """

    is_async = True

    def __init__(self, client: "redis.asyncio.RedisCluster") -> None:
        self._client = client
        self._lanes = Lanes(client)
        self._held: set[asyncio.Task[None]] = set()  # the loop itself does not keep them

    def run(self, checks: list[Check], what: What, now_ms: int | None = None) -> "asyncio.Future[list[int]]":
        if groups.in_one_slot(checks):  # the usual case, without a task of its own
            return self._lanes.call(decide_call(checks, what, now_ms))
        return self._begin(groups.decide(checks, what, now_ms))

    def refund(self, refunds: Refunds, now_ms: int | None = None) -> "asyncio.Future[list[int]]":
        return self._begin(groups.refund(refunds, now_ms))

    async def reset(self, keys: Sequence[str]) -> None:
        with as_redis_errors():
            await self._client.unlink(*keys)

    def _begin(self, conversation: Conversation) -> "asyncio.Future[Any]":
        """The reply. Who stops waiting for it does not end the conversation: it may have something to give back."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Any] = loop.create_future()
        task = loop.create_task(self._hold(conversation, answer))
        self._held.add(task)
        task.add_done_callback(self._held.discard)
        return answer

    async def _hold(self, conversation: Conversation, answer: "asyncio.Future[Any]") -> None:
        try:
            calls = next(conversation)
            while True:
                replies: list[Any] = await asyncio.gather(*map(self._lanes.call, calls), return_exceptions=True)
                failed = next((reply for reply in replies if isinstance(reply, BaseException)), None)
                calls = conversation.throw(failed) if failed else conversation.send(replies)
        except StopIteration as end:
            if not answer.done():
                answer.set_result(end.value)
        except Exception as error:
            if not answer.done():
                answer.set_exception(error)
        finally:
            answer.cancel()
