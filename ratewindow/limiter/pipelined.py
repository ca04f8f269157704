"""Calls that wait at the same moment share one pipeline and one connection: asyncio's share of speed."""

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from redis.exceptions import NoScriptError, ReadOnlyError, ResponseError

from ratewindow.limiter.wire import Call, Words

if TYPE_CHECKING:
    import redis.asyncio


_Waiting = tuple[Callable[[], Call], bytes | None, "asyncio.Future[Any]"]


class Pipelined:
    """Sends calls of one event loop, at most one pipeline at a time.

    While a pipeline is on its way, calls gather for the next one: under load they become many to a round
    trip, and one alone waits for nothing. Whoever stops waiting for a call, by a timeout or because its task
    was cancelled, harms no other in the same pipeline; the call itself may still be executed.
    """

    def __init__(self, client: "redis.asyncio.Redis") -> None:
        self._client = client
        self._waiting: list[_Waiting] = []
        self._sender: asyncio.Task[None] | None = None

    def call(self, call: Callable[[], Call], packed: bytes | None = None) -> asyncio.Future[Any]:
        """The reply, or the error, of a call that is sent with the next pipeline; `packed`, if that is at hand."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Any] = loop.create_future()
        self._waiting.append((call, packed, answer))
        if self._sender is None:
            self._sender = loop.create_task(self._send())
        return answer

    async def _send(self) -> None:
        try:
            while self._waiting:
                batch, self._waiting = self._waiting, []
                try:
                    await self._exchange(batch)
                finally:
                    _give_up(batch)
        finally:
            self._sender = None
            _give_up(self._waiting)

    async def _exchange(self, batch: list[_Waiting]) -> None:
        try:
            replies = await self._round_trip([call().by_sha() if packed is None else packed for call, packed, _ in batch])
            unknown = [number for number, reply in enumerate(replies) if isinstance(reply, NoScriptError)]
            if unknown:  # a server that was started anew, or whose scripts were flushed
                again = await self._round_trip([batch[number][0]().in_full() for number in unknown])
                for number, reply in zip(unknown, again, strict=True):
                    replies[number] = reply
        except Exception as error:
            replies = [error] * len(batch)
        for (_, _, answer), reply in zip(batch, replies, strict=True):
            if answer.done():
                continue
            if isinstance(reply, Exception):
                answer.set_exception(reply)
            else:
                answer.set_result(reply)

    async def _round_trip(self, commands: Sequence[Words | bytes]) -> list[Any]:
        """What a client's pipeline does, without what that does around each command."""
        pool = self._client.connection_pool
        connection = await pool.get_connection()
        try:
            parts: list[bytes] = []
            for command in commands:
                parts += [command] if isinstance(command, bytes) else connection.pack_command(*command)
            await connection.send_packed_command(b"".join(parts), check_health=False)
            replies: list[Any] = []
            for _ in commands:
                try:
                    replies.append(await connection.read_response())
                except ResponseError as error:  # an answer like any other
                    replies.append(error)
            if any(isinstance(reply, ReadOnlyError) for reply in replies):
                await connection.disconnect()  # a demoted master: the address may lead to another one by now
            return replies
        except BaseException:  # answers may still come, and must not be taken for those of the next calls
            await connection.disconnect(nowait=True)
            raise
        finally:
            await pool.release(connection)


def _give_up(batch: list[_Waiting]) -> None:
    """Nobody waits for ever: what has no answer by now will have none."""
    for *_, answer in batch:
        if not answer.done():
            answer.cancel()
