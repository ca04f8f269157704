"""A time limit for answers on an event loop that is not fooled by the loop's own lag."""

import asyncio
from typing import TypeVar

Reply = TypeVar("Reply")

# From bytes that have arrived to a future that has its result, an answer passes through this many turns
# of the loop: the socket, the stream, the sender, with some to spare.
GRACE_TURNS = 8


async def within(timeout_s: float, answer: "asyncio.Future[Reply]") -> Reply:
    """The answer, or TimeoutError after so many seconds.

    A view that blocks the loop lets the timer fire although the answer has come meanwhile: so the loop may
    turn a few times more, and an answer that was there is taken.
    """
    loop = asyncio.get_running_loop()
    timer = loop.call_later(timeout_s, _expire, loop, answer, GRACE_TURNS)
    try:
        return await answer
    finally:
        timer.cancel()


def _expire(loop: asyncio.AbstractEventLoop, answer: "asyncio.Future[Reply]", turns: int) -> None:
    if answer.done():
        return
    if turns:
        loop.call_soon(_expire, loop, answer, turns - 1)
    else:
        answer.set_exception(TimeoutError("no answer within the time limit"))
