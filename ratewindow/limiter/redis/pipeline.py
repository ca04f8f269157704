"""Calls on an event loop: those that wait at the same moment share one pipeline and one connection, and the loop's own lag
does not use up their time.

A view that blocks the loop is no fault of a server: a timer that fires late for it must not end a wait whose
answer has come meanwhile, or could not even be asked for. So the time runs in slices, each of which is counted
once however late it ends, and after the last one the loop may turn a few times more.
"""

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, NamedTuple, TypeVar

from redis.exceptions import NoScriptError, ReadOnlyError, RedisError, ResponseError, TimeoutError as RedisTimeoutError

from ratewindow.limiter.redis.commands import Call, ServerClock, Words
from ratewindow.limiter.redis.faults import BadReply, is_refusal, numbers, without_scripts

Reply = TypeVar("Reply")

SLICES = 4
# From bytes that have arrived to a future that has its result, an answer passes through this many turns
# of the loop: the socket, the stream, the sender, with some to spare.
GRACE_TURNS = 8


class Waiting(NamedTuple):
    """A call, and who waits for its answer."""

    call: Callable[[], Call]
    parts: int  # how many numbers the answer has
    packed: bytes | None  # the call as it is sent, if that is at hand
    answer: "asyncio.Future[Any]"
    read: Callable[[list[int]], Any] | None = None  # makes of the numbers what is waited for
    hops: int = 0  # how often servers of a cluster have sent it on

    def settle(self, reply: Any) -> None:
        """Give whoever waits the reply, or the error; nobody may be left."""
        if self.answer.done():
            return
        if isinstance(reply, Exception):
            self.answer.set_exception(reply)
        else:
            self.answer.set_result(self.read(reply) if self.read else reply)


class Pipelined:
    """Sends calls of one event loop to one server, at most one pipeline at a time.

    While a pipeline is on its way, calls gather for the next one: under load they become many to a round
    trip, and one alone waits for nothing. Whoever stops waiting for a call, by a timeout or because its task
    was cancelled, harms no other in the same pipeline; the call itself may still be executed. With `limit_s`
    a pipeline fails when its oldest call has waited so long, and with it all who wait for the next: nobody
    waits for a server's silence twice.
    """

    def __init__(self, pool: Any, limit_s: float | None = None, clock: ServerClock | None = None) -> None:
        self._pool = pool
        self.clock = clock or ServerClock()
        self._purpose = _purpose(pool)
        self._limit_s = limit_s
        self._waiting: list[Waiting] = []
        self._since_s = 0.0  # when the oldest of those who wait has come
        self._sender: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_new_loop = False  # after one that has ended

    def call(
        self,
        call: Callable[[], Call],
        parts: int,
        packed: bytes | None = None,
        read: Callable[[list[int]], Any] | None = None,
    ) -> "asyncio.Future[Any]":
        """The reply, or the error, of a call that is sent with the next pipeline."""
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.add(Waiting(call, parts, packed, answer, read))
        return answer

    def add(self, waiting: Waiting) -> None:
        """Send this with the next pipeline."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            if self._loop is not None and self._loop.is_closed():  # whoever waited in it waits no more
                self._waiting, self._sender, self._is_new_loop = [], None, True
            self._loop = loop
        if not self._waiting:
            self._since_s = loop.time()
        self._waiting.append(waiting)
        if self._sender is None:
            self._sender = loop.create_task(self._send())

    async def _begin_anew(self) -> None:
        """What was opened in a loop that has ended cannot be used in another, nor be closed as it should."""
        with suppress(RuntimeError):
            await self._pool.disconnect(inuse_connections=False)

    async def _send(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            while self._waiting:
                batch, self._waiting = self._waiting, []
                try:
                    await self._exchange(batch)
                except BaseException:
                    _give_up(batch)
                    raise
        finally:
            if loop is self._loop:  # if not, it ended meanwhile, and this is thrown away while another loop's calls wait
                self._sender = None
                _give_up(self._waiting)

    async def _exchange(self, batch: list[Waiting]) -> None:
        replies: Sequence[Any]
        try:
            async with time_limit(self._left_s()):
                replies = await self._replies(batch)
        except TimeoutError:
            error = RedisTimeoutError(f"no answer within {self._limit_s:.3g} s")
            batch, self._waiting = batch + self._waiting, []
            replies = [error] * len(batch)
        except Exception as error:
            replies = [error] * len(batch)
        self._settle(batch, replies)

    def _settle(self, batch: Sequence[Waiting], replies: Sequence[Any]) -> None:
        """Give each its reply, or its error."""
        for waiting, reply in zip(batch, replies, strict=True):
            waiting.settle(reply)

    def _left_s(self) -> float | None:
        """What the oldest call of a batch has left; a third at least, since it may be our own loop that kept it waiting."""
        if self._limit_s is None:
            return None
        return max(self._since_s + self._limit_s - asyncio.get_running_loop().time(), self._limit_s / 3)

    async def _replies(self, batch: list[Waiting]) -> list[Any]:
        clock, by_host = self.clock, self.clock.is_hosts
        words = [clock.timed(call()).by_sha() if packed is None or by_host else packed for call, _, packed, *_ in batch]
        replies = await self._round_trip(words, [each.parts for each in batch])
        if not any(isinstance(reply, ResponseError) for reply in replies):
            return replies
        await self._repeat(batch, replies, by_host)
        await self._repeat(batch, replies, by_host)  # a server may first not know a script, and then refuse it its clock
        return [without_scripts(reply) or reply for reply in replies]

    async def _repeat(self, batch: list[Waiting], replies: list[Any], by_host: bool) -> None:
        """Repeat calls where a server was restarted, its scripts were flushed, or they must not read its clock."""
        again = [number for number, reply in enumerate(replies) if isinstance(reply, NoScriptError)]
        refused = [] if by_host else [number for number, reply in enumerate(replies) if is_refusal(reply)]
        if refused and not self.clock.is_known:
            [answer] = await self._round_trip([list(self.clock.PROBE)], [1])
            self.clock.learn(answer)
        again += refused if self.clock.is_hosts else []
        calls = [self.clock.timed(batch[number].call()) for number in again]
        if calls:
            repeated = await self._round_trip([call.in_full() for call in calls], [call.parts for call in calls])
            for number, reply in zip(again, repeated, strict=True):
                replies[number] = reply

    async def _round_trip(self, commands: Sequence[Words | bytes], parts: Sequence[int], asking: bool = False) -> list[Any]:
        """What a client's pipeline does, without what that does around each command."""
        if self._is_new_loop:
            self._is_new_loop = False
            await self._begin_anew()
        connection = await self._pool.get_connection(*self._purpose)
        try:
            if asking:
                await connection.send_command("ASKING", check_health=False)
                await connection.read_response()
            packed: list[bytes] = []
            for command in commands:
                packed += [command] if isinstance(command, bytes) else connection.pack_command(*command)
            await connection.send_packed_command(b"".join(packed), check_health=False)
            replies: list[Any] = []
            for number in parts:
                try:
                    replies.append(numbers(await connection.read_response(), number))
                except ResponseError as error:  # an answer like any other
                    replies.append(error)
            if any(isinstance(reply, ReadOnlyError) for reply in replies):
                await connection.disconnect()  # a demoted master: the address may lead to another one by now
            return replies
        except BaseException as error:  # answers may still come, and must not be taken for those of the next calls
            await connection.disconnect(nowait=True)
            if isinstance(error, RedisError | OSError) or not isinstance(error, Exception):
                raise
            raise BadReply(f"no answer that can be read: {type(error).__name__}: {error}") from error
        finally:
            await self._pool.release(connection)


def _purpose(pool: Any) -> tuple[str, ...]:
    """What the pool is to be given with each request for a connection: before redis-py 5.3 the name of a command."""
    name = inspect.signature(pool.get_connection).parameters.get("command_name")
    return ("EVALSHA",) if name is not None and name.default is name.empty else ()


def _give_up(batch: list[Waiting]) -> None:
    """Nobody waits for ever: what has no answer by now will have none. In a loop that has ended nobody waits."""
    for waiting in batch:
        if not waiting.answer.done() and not waiting.answer.get_loop().is_closed():
            waiting.answer.cancel()


async def within(timeout_s: float, answer: "asyncio.Future[Reply]") -> Reply:
    """The answer, or TimeoutError after so many seconds in which the loop was free."""

    def expire() -> None:
        if not answer.done():
            answer.set_exception(TimeoutError("no answer within the time limit"))

    timer = _Timer(timeout_s, expire)
    try:
        return await answer
    finally:
        timer.cancel()


@asynccontextmanager
async def time_limit(timeout_s: float | None) -> AsyncIterator[None]:
    """TimeoutError after so many seconds in which the loop was free, whatever is awaited in it; None is no limit."""
    if timeout_s is None:
        yield
        return
    async with asyncio.timeout(None) as limit:
        timer = _Timer(timeout_s, lambda: limit.reschedule(0.0))
        try:
            yield
        finally:
            timer.cancel()


class _Timer:
    def __init__(self, timeout_s: float, expire: Callable[[], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._expire = expire
        self._slice_s = timeout_s / SLICES
        self._handle: asyncio.Handle = self._loop.call_later(self._slice_s, self._pass, SLICES - 1, GRACE_TURNS)

    def cancel(self) -> None:
        self._handle.cancel()

    def _pass(self, slices: int, turns: int) -> None:
        if slices:
            self._handle = self._loop.call_later(self._slice_s, self._pass, slices - 1, turns)
        elif turns:
            self._handle = self._loop.call_soon(self._pass, 0, turns - 1)
        else:
            self._expire()
