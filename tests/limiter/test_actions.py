"""The one-line question, asked by threads and by tasks."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest
import redis
import redis.asyncio

from ratewindow.limiter import AsyncRedisStore, RedisStore, ais_action_allowed, is_action_allowed


def test_so_many_are_allowed_and_no_more() -> None:
    assert [is_action_allowed("ann", "reply", 60, 3) for _ in range(5)] == [True, True, True, False, False]


def test_both_forms_count_together_in_a_process() -> None:
    async def ask() -> bool:
        return await ais_action_allowed("bob", "reply", 60, 3)

    told = [is_action_allowed("bob", "reply", 60, 3), asyncio.run(ask()), asyncio.run(ask()), asyncio.run(ask())]
    assert told == [True, True, True, False]
    assert not is_action_allowed("bob", "reply", 60, 3)


def test_users_and_actions_are_told_apart_whatever_characters_they_have() -> None:
    assert is_action_allowed("a', 'b", "c", 60, 1)
    assert is_action_allowed("a", "b', 'c", 60, 1)
    assert not is_action_allowed("a", "b', 'c", 60, 1)


def test_tasks_and_threads_share_one_server_and_are_allowed_exactly_the_count(redis_url: str) -> None:
    async def ask() -> list[bool]:
        async with redis.asyncio.Redis.from_url(redis_url) as client:
            store = AsyncRedisStore(client)
            return await asyncio.gather(*[ais_action_allowed("eve", "reply", 60, 5, store=store) for _ in range(40)])

    assert sum(asyncio.run(ask())) == 5
    with redis.Redis.from_url(redis_url) as client, ThreadPoolExecutor(8) as pool:
        store = RedisStore(client)
        assert sum(pool.map(lambda _: is_action_allowed("eve", "reply", 60, 8, store=store), range(40))) == 3


@pytest.mark.parametrize(("period_s", "most"), [(0, 3), (-1, 3), (60, -1)])
def test_a_bad_period_or_count_is_named(period_s: float, most: int) -> None:
    with pytest.raises(ValueError, match=r"period|limit"):
        is_action_allowed("ann", "reply", period_s, most)
    with pytest.raises(ValueError, match=r"period|limit"):
        asyncio.run(ais_action_allowed("ann", "reply", period_s, most))
