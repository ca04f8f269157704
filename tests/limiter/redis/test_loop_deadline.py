"""An answer has its time limit, and the loop's own lag is not counted as the server's."""

import asyncio
import time

import pytest

from ratewindow.limiter.redis.pipeline import within


async def test_an_answer_that_does_not_come_is_given_up() -> None:
    answer: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    with pytest.raises(TimeoutError):
        await within(0.001, answer)


async def test_an_answer_in_time_is_returned_and_leaves_no_timer() -> None:
    answer: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    answer.set_result(5)
    assert await within(0.001, answer) == 5


async def test_an_answer_that_came_while_the_loop_was_blocked_is_taken() -> None:
    """Through a real socket: the bytes are there before the timer is looked at, and pass through a few turns."""

    async def answering(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(await reader.readline())
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answering, "127.0.0.1", 0)
    async with server:
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        writer.write(b"hello\n")
        await writer.drain()
        answer: asyncio.Future[bytes] = asyncio.ensure_future(reader.readline())
        waiting = asyncio.ensure_future(within(0.02, answer))
        await asyncio.sleep(0.01)
        time.sleep(0.05)
        assert await waiting == b"hello\n"
        writer.close()
