"""Time limits on an event loop that are not fooled by the loop's own lag.

A view that blocks the loop is no fault of a server: a timer that fires late for it must not end a wait whose
answer has come meanwhile, or could not even be asked for. So the time runs in slices, each of which is counted
once however late it ends, and after the last one the loop may turn a few times more.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

Reply = TypeVar("Reply")

SLICES = 4
# From bytes that have arrived to a future that has its result, an answer passes through this many turns
# of the loop: the socket, the stream, the sender, with some to spare.
GRACE_TURNS = 8


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
    __slots__ = ("_expire", "_handle", "_loop", "_slice_s")

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
