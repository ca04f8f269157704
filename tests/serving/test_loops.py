"""Event loops, threads and tasks of one process: each counts right, and none leaves anything behind."""

import asyncio
import gc
import threading
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import redis
from asgiref.sync import async_to_sync, sync_to_async
from django.conf import settings
from django.test import RequestFactory, override_settings

import ratewindow
from ratewindow import conf
from ratewindow.rules import code_rates
from ratewindow.rules.code_rates import CodeRate
from ratewindow.store import outage, stores
from tests.serving.servers import until
from tests.support.doors import behind_middleware, decorated, plain

MOST = 1_000_000


@pytest.fixture(autouse=True)
def _counted(redis_url: str) -> Iterator[None]:
    """A rule that code gives, a patient limiter, and stores that begin and end with the test."""
    code_rates.register(CodeRate("looped", f"{MOST}/h", "ip", frozenset(), "this test"))
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "TIMEOUT": "10s"}):
        yield


def charged(who: str) -> int:
    return MOST - (ratewindow.peek("looped", who).remaining or 0)


def clients(server: redis.Redis) -> int:
    return len(server.client_list())


async def hits(who: str, times: int) -> None:
    for _ in range(times):
        assert (await ratewindow.ahit("looped", who)).reason == ""


def test_many_loops_and_threads_at_once_count_exactly_and_leave_no_connection(redis_client: redis.Redis) -> None:
    ratewindow.hit("looped", "ip:203.0.113.1")  # the connection of threads, which stays
    before = clients(redis_client)

    def loop(_: int) -> None:
        asyncio.run(together())

    async def together() -> None:
        await asyncio.gather(*(hits("ip:203.0.113.9", 5) for _ in range(10)))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(loop, range(16)))
    assert charged("ip:203.0.113.9") == 16 * 10 * 5
    until(lambda: clients(redis_client) <= before, "connections stayed open")
    assert stores.held.of_loop == {}


def test_a_loop_for_each_call_as_async_to_sync_makes_them_leaves_no_connection(redis_client: redis.Redis) -> None:
    ratewindow.hit("looped", "ip:203.0.113.1")
    before = clients(redis_client)
    for _ in range(50):
        async_to_sync(ratewindow.ahit)("looped", "ip:203.0.113.9")
    assert charged("ip:203.0.113.9") == 50
    gc.collect()
    until(lambda: clients(redis_client) <= before, "connections stayed open")


async def test_threads_beside_a_loop_use_the_connections_of_threads() -> None:
    def ask() -> None:
        for _ in range(5):
            ratewindow.hit("looped", "ip:203.0.113.9")

    await asyncio.gather(*(sync_to_async(ask, thread_sensitive=False)() for _ in range(10)), hits("ip:203.0.113.9", 10))
    assert await asyncio.to_thread(charged, "ip:203.0.113.9") == 60


async def cancelled(work: Callable[[], Awaitable[Any]], turns: int) -> None:
    """Begin, let the loop turn so many times, and think better of it."""
    task = asyncio.ensure_future(work())
    for _ in range(turns):
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_a_thousand_cancels_leave_connections_and_pipelines_as_they_were(redis_client: redis.Redis) -> None:
    async def ask() -> Any:
        return await ratewindow.ahit("looped", "ip:203.0.113.9")

    await ask()
    before, store = clients(redis_client), await stores.astore()
    for number in range(1000):
        await cancelled(ask, number % 12)
    assert (await ask()).reason == ""
    assert 2 <= await asyncio.to_thread(charged, "ip:203.0.113.9") <= 1002
    assert store._pipelined._waiting == [] and store._pipelined._sender is None  # type: ignore[union-attr]
    assert clients(redis_client) == before + 1  # that of threads, for `charged`
    assert not outage.breaker.open


async def test_a_thousand_cancels_amid_a_crowd_harm_nobody_else(redis_client: redis.Redis) -> None:
    async def ask(who: str) -> Any:
        return await ratewindow.ahit("looped", who)

    steady = asyncio.gather(*(hits(f"ip:198.51.100.{number}", 40) for number in range(10)))
    for number in range(0, 1000, 20):
        await asyncio.gather(*(cancelled(lambda: ask("ip:203.0.113.9"), (number + each) % 12) for each in range(20)))
    await steady
    for number in range(10):
        assert await asyncio.to_thread(charged, f"ip:198.51.100.{number}") == 40


async def test_a_request_that_is_cancelled_at_any_moment_leaves_the_next_one_well() -> None:
    """As Django does to a view whose client has left."""
    site = behind_middleware(decorated(True, "looped", f"{MOST}/h"))

    async def ask() -> Any:
        return await site(RequestFactory().get("/"))

    for turns in range(60):
        await cancelled(ask, turns)
    assert (await ask()).status_code == 200
    assert 2 <= await asyncio.to_thread(charged, "ip:127.0.0.1") <= 61


def test_requests_under_wsgi_whose_views_are_asynchronous_leave_no_connection(redis_client: redis.Redis) -> None:
    ratewindow.hit("looped", "ip:203.0.113.1")
    before = clients(redis_client)
    view = async_to_sync(decorated(True, "looped", f"{MOST}/h"))
    site = behind_middleware(lambda request: view(request))
    for _ in range(30):
        assert site(RequestFactory().get("/")).status_code == 200
    gc.collect()
    until(lambda: clients(redis_client) <= before, "connections stayed open")
    assert charged("ip:127.0.0.1") == 30


def test_two_thousand_threads_count_exactly(redis_client: redis.Redis) -> None:
    """As many as a server with a thread for each client may have, though few of them ask at the same moment."""
    seen: list[Any] = []
    site = behind_middleware(decorated(False, "looped", f"{MOST}/h", seen=seen))
    begun = threading.Barrier(51)

    def ask(wait: bool) -> None:
        if wait:
            begun.wait(30)
        site(RequestFactory().get("/"))

    together = [threading.Thread(target=ask, args=(True,)) for _ in range(50)]
    for thread in together:
        thread.start()
    begun.wait(30)
    others = [threading.Thread(target=ask, args=(False,)) for _ in range(1950)]
    for thread in others:
        thread.start()
    for thread in together + others:
        thread.join()
    assert charged("ip:127.0.0.1") == 2000
    assert not [request for request in seen if request.ratewindow.reason]


def test_a_plain_view_needs_neither_loop_nor_connection(redis_client: redis.Redis) -> None:
    before = clients(redis_client)
    site = behind_middleware(plain(False))
    assert site(RequestFactory().get("/")).status_code == 200
    assert clients(redis_client) == before
    assert conf.current().redis != "memory://"
