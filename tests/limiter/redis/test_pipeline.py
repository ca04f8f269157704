"""Decisions of one loop that share a pipeline: nobody's fate is another's."""

import asyncio
import subprocess
import sys

import pytest
import redis.asyncio
from redis.exceptions import ResponseError

from ratewindow.limiter import AsyncRedisStore, Limiter, Window

LIMIT = [Window(50, period_ms=3_600_000)]


async def test_decisions_that_wait_at_the_same_moment_share_a_round_trip(redis_url: str) -> None:
    async with redis.asyncio.Redis.from_url(redis_url) as client:
        limiter = Limiter(AsyncRedisStore(client))
        await limiter.ahit("warm", LIMIT)
        before = (await client.info("stats"))["total_reads_processed"]
        told = await asyncio.gather(*(limiter.ahit("user:42", LIMIT) for _ in range(200)))
        reads = (await client.info("stats"))["total_reads_processed"] - before
    assert sum(each.allowed for each in told) == 50
    assert reads < 20  # the server reads at most 16 kB at a time


async def test_a_cancelled_caller_harms_no_other(redis_url: str) -> None:
    async with redis.asyncio.Redis.from_url(redis_url) as client:
        limiter = Limiter(AsyncRedisStore(client))
        tasks = [asyncio.create_task(limiter.ahit(f"user:{number}", LIMIT)) for number in range(20)]
        await asyncio.sleep(0)
        for task in tasks[::2]:
            task.cancel()
        told = await asyncio.gather(*tasks, return_exceptions=True)
        assert [isinstance(each, asyncio.CancelledError) for each in told] == [True, False] * 10
        assert (await limiter.ahit("user:1", LIMIT)).remaining == 48


async def test_a_thousand_cancelled_decisions_leave_the_connections_as_they_were(redis_url: str) -> None:
    async with redis.asyncio.Redis.from_url(redis_url, max_connections=2) as client:
        limiter = Limiter(AsyncRedisStore(client))
        for _ in range(1000):
            task = asyncio.create_task(limiter.ahit("user:42", LIMIT))
            await asyncio.sleep(0)
            task.cancel()
        assert (await limiter.ahit("user:43", LIMIT)).allowed


SEVERAL_LOOPS = """
import asyncio, sys, redis.asyncio
from ratewindow.limiter import AsyncRedisStore, Limiter, Window
limiter = Limiter(AsyncRedisStore(redis.asyncio.Redis.from_url(sys.argv[1])))
def ask():
    return asyncio.wait_for(limiter.ahit("user:42", [Window(50, period_ms=3_600_000)]), 10)
told = [asyncio.run(ask()).remaining for _ in range(3)]
loop = asyncio.new_event_loop()
hanging = loop.create_task(ask())
loop.run_until_complete(asyncio.sleep(0))
loop.close()
print(told, asyncio.run(ask()).allowed)
"""


LEFT_BY_A_LOOP = """
import asyncio, sys, redis.asyncio
from ratewindow.limiter import AsyncRedisStore, Limiter, Window
limiter = Limiter(AsyncRedisStore(redis.asyncio.Redis.from_url(sys.argv[1])))
def ask():
    return limiter.ahit("user:42", [Window(50, period_ms=3_600_000)])
asyncio.run(ask())
loop = asyncio.new_event_loop()
hanging = loop.create_task(ask())
for _ in range(2):
    loop.run_until_complete(asyncio.sleep(0))
left = asyncio.all_tasks(loop)
loop.close()
async def ask_while_they_are_thrown_away():
    asked = asyncio.create_task(ask())
    await asyncio.sleep(0)  # which waits for its pipeline to be sent
    for task in left:
        task.get_coro().close()  # as the garbage collector does, at a moment that we choose
    return await asked
print(asyncio.run(ask_while_they_are_thrown_away()).allowed)
"""


@pytest.mark.parametrize(("program", "printed"), [(SEVERAL_LOOPS, "[49, 48, 47] True"), (LEFT_BY_A_LOOP, "True")])
def test_the_next_loop_begins_anew_where_another_has_ended(redis_url: str, program: str, printed: str) -> None:
    """Also after one that was closed amid a decision, where nobody is left to send the next; what is left of it takes nothing."""
    told = subprocess.run([sys.executable, "-c", program, redis_url], capture_output=True, text=True, check=False, timeout=60)
    assert told.stdout == f"{printed}\n", told.stderr


async def test_an_error_of_one_decision_is_its_own(redis_url: str) -> None:
    async with redis.asyncio.Redis.from_url(redis_url) as client:
        limiter = Limiter(AsyncRedisStore(client))
        await limiter.ahit("user:bad", LIMIT)
        (key,) = await client.keys("rwl:*")
        await client.delete(key)
        await client.lpush(key, "not ours")
        good, bad = await asyncio.gather(
            limiter.ahit("user:good", LIMIT), limiter.ahit("user:bad", LIMIT), return_exceptions=True
        )
    assert isinstance(bad, ResponseError)
    assert not isinstance(good, BaseException)
    assert good.allowed


async def test_a_flushed_script_is_sent_again_for_all_who_wait(redis_url: str) -> None:
    async with redis.asyncio.Redis.from_url(redis_url) as client:
        limiter = Limiter(AsyncRedisStore(client))
        await limiter.ahit("user:42", LIMIT)
        await client.script_flush()
        told = await asyncio.gather(*(limiter.ahit("user:42", LIMIT) for _ in range(5)))
    assert sorted(each.remaining or 0 for each in told) == [44, 45, 46, 47, 48]


async def test_a_server_that_is_away_is_told_to_all_who_wait() -> None:
    async with redis.asyncio.Redis.from_url("redis://127.0.0.1:1/0") as client:
        limiter = Limiter(AsyncRedisStore(client))
        told = await asyncio.gather(*(limiter.ahit("user:42", LIMIT) for _ in range(5)), return_exceptions=True)
    assert all(isinstance(each, redis.exceptions.ConnectionError) for each in told)
