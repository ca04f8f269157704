"""The connections that the store keeps for itself."""

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import redis
import redis.asyncio
from redis._parsers import _RESP2Parser
from redis.exceptions import ConnectionError as RedisConnectionError

from ratewindow.limiter import AsyncRedisStore, Limiter, RedisStore, Window
from ratewindow.limiter.rates import parse_rates
from ratewindow.limiter.redis import faults
from ratewindow.limiter.redis.commands import decide_call, packed_decide
from ratewindow.limiter.redis.connections import exchange
from ratewindow.limiter.redis.thread_deadline import limited, timed
from ratewindow.limiter.types import Check, What

LIMIT = [Window(1000, period_ms=3_600_000)]
CHECKS = [Check("rule", (LIMIT[0],), ("rw:s:test",))]


def test_one_thread_keeps_one_connection(redis_url: str) -> None:
    with redis.Redis.from_url(redis_url) as client:
        store = RedisStore(client)
        limiter = Limiter(store)
        for _ in range(10):
            limiter.hit("user:42", LIMIT)
        assert len(store._server._idle) == 1


def clients(server: redis.Redis) -> set[str]:
    """Each of them by its number: those of an earlier test may still be going."""
    return {each["id"] for each in server.client_list()}


@pytest.mark.inside
@pytest.mark.parametrize("options", [{}, {"protocol": 3}, {"protocol": 3, "maintenance": True}], ids=["usual", "3", "announcing"])
@pytest.mark.parametrize("with_hiredis", [True, False], ids=["hiredis", "python"])
def test_the_stores_own_connections_speak_what_is_read_in_few_steps(
    redis_url: str, options: dict[str, Any], with_hiredis: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever version of the protocol the client speaks: redis-py's own default changes with its versions."""
    if not with_hiredis:
        monkeypatch.setattr("redis.connection.DefaultParser", _RESP2Parser)
    if "maintenance" in options:
        notifications = pytest.importorskip("redis.maint_notifications")
        options = {"protocol": 3, "maint_notifications_config": notifications.MaintNotificationsConfig(enabled="auto")}
    sent: list[bytes] = []
    with redis.Redis.from_url(redis_url.replace("protocol=2", ""), **options) as client:
        store = RedisStore(client)
        limiter = Limiter(store)
        limiter.hit("user:42", LIMIT)  # connects, and sends the script
        [(connection, _)] = store._server._idle
        monkeypatch.setattr(connection, "send_packed_command", lambda *sends, **_: sent.append(sends))
        assert limiter.hit("user:42", LIMIT).remaining == 998
        assert client.ping()
    assert not sent  # it was our own exchange


def test_failures_use_up_no_connections() -> None:
    """A pool that never gets its connections back refuses for ever, once there were as many as it may have."""
    with redis.Redis.from_url("redis://127.0.0.1:1/0", max_connections=2) as client:
        limiter = Limiter(RedisStore(client))
        for _ in range(10):
            with pytest.raises(RedisConnectionError, match="Connection refused"):
                limiter.hit("user:42", LIMIT)


def test_a_server_that_went_away_while_connections_rested_uses_up_none_of_them(
    redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ratewindow.limiter.redis.connections.IDLE_S", -1.0)
    with redis.Redis.from_url(redis_url, max_connections=2) as client:
        limiter = Limiter(RedisStore(client))
        for remaining in range(999, 996, -1):
            assert limiter.hit("user:42", LIMIT).remaining == remaining
            with redis.Redis.from_url(redis_url) as other:
                other.client_kill_filter(_type="normal", skipme=True)
            with monkeypatch.context() as away, pytest.raises(RedisConnectionError, match="away"):
                away.setattr(redis.Connection, "connect", _away)
                limiter.hit("user:42", LIMIT)


def _away(self: redis.Connection) -> None:
    raise RedisConnectionError("away")


def test_threads_do_not_share_a_connection(redis_url: str) -> None:
    with redis.Redis.from_url(redis_url) as client:
        limiter = Limiter(RedisStore(client))
        with ThreadPoolExecutor(8) as pool:
            remaining = sorted(pool.map(lambda _: limiter.hit("user:42", LIMIT).remaining or 0, range(400)))
    assert remaining == list(range(600, 1000))


def test_a_connection_that_the_server_closed_is_opened_anew(redis_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ratewindow.limiter.redis.connections.IDLE_S", -1.0)
    with redis.Redis.from_url(redis_url) as client:
        limiter = Limiter(RedisStore(client))
        limiter.hit("user:42", LIMIT)
        client.client_kill_filter(_type="normal", skipme=True)
        assert limiter.hit("user:42", LIMIT).remaining == 998


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_opens_a_connection_of_its_own(redis_url: str) -> None:
    with redis.Redis.from_url(redis_url) as client:
        limiter = Limiter(RedisStore(client))
        limiter.hit("user:42", LIMIT)
        child = os.fork()
        if not child:
            told = [limiter.hit("user:42", LIMIT).allowed for _ in range(100)]
            os._exit(0 if all(told) else 1)
        told = [limiter.hit("user:42", LIMIT).allowed for _ in range(100)]
        assert os.waitpid(child, 0)[1] == 0
        assert all(told)
        assert limiter.peek("user:42", LIMIT).remaining == 1000 - 201


def test_closing_the_store_leaves_it_usable(redis_url: str) -> None:
    with redis.Redis.from_url(redis_url) as client:
        store = RedisStore(client)
        limiter = Limiter(store)
        limiter.hit("user:42", LIMIT)
        store.close()
        assert limiter.hit("user:42", LIMIT).remaining == 998


@pytest.mark.parametrize("rates", [["5/m"], ["5/m; 100/h; 1000/d"], ["5/m; 9/h", "7/s"]])
@pytest.mark.parametrize("cost", [0, 1, 3])
@pytest.mark.parametrize("what", ["hit", "peek", "force"])
@pytest.mark.parametrize("more", [(), (True,), (False, 9000, "lock"), (True, 9000, "lock")], ids=str)
def test_the_packed_call_is_the_call(rates: list[str], cost: int, what: What, more: tuple[bool, int, str]) -> None:
    checks = [
        Check(
            f"rule{place}", windows, tuple(f"key:é:{place}:{number}" for number in range(len(windows))), cost, place == 0, *more
        )
        for place, windows in enumerate(map(parse_rates, rates))
    ]
    words = decide_call(checks, what, None).by_sha()
    command, _ = packed_decide(checks, what, None) or (b"", 0)
    assert command == b"".join(redis.Connection().pack_command(*words))  # never connected


@pytest.mark.parametrize("pool", [redis.ConnectionPool, redis.BlockingConnectionPool])
def test_a_crowd_of_threads_leaves_the_client_its_own_connections(redis_url: str, pool: type[redis.ConnectionPool]) -> None:
    """A pool gives out so many and no more: what a store kept of it, the application would wait for in vain."""
    client = redis.Redis(connection_pool=pool.from_url(redis_url, max_connections=1))
    limiter, together = Limiter(RedisStore(client)), threading.Barrier(8)

    def ask(_: int) -> bool:
        together.wait()
        return all(limiter.hit("user:42", LIMIT) for _ in range(10))

    with ThreadPoolExecutor(8) as crowd:
        assert all(crowd.map(ask, range(8)))
    assert client.ping()
    assert limiter.peek("user:42", LIMIT).remaining == 920
    client.close()
    assert limiter.hit("user:42", LIMIT).remaining == 919


def test_the_connections_are_closed_with_the_store(redis_url: str, redis_client: redis.Redis) -> None:
    before = clients(redis_client)
    with redis.Redis.from_url(redis_url) as client:
        store = RedisStore(client)
        Limiter(store).hit("user:42", LIMIT)
        (ours,) = clients(redis_client) - before
        del store
        while ours in clients(redis_client):
            pass  # the server hears of it a moment later


async def test_a_pool_that_gives_out_no_more_is_a_fault_with_a_name_and_told_at_once(redis_url: str) -> None:
    async with redis.asyncio.Redis.from_url(redis_url, max_connections=1) as client:
        async with client.client():  # which keeps the connection
            with pytest.raises(RedisConnectionError) as told:
                await Limiter(AsyncRedisStore(client)).ahit("user:42", LIMIT)
            assert faults.of(told.value).name == "pool"
        assert await Limiter(AsyncRedisStore(client)).ahit("user:42", LIMIT)


@pytest.mark.inside
def test_a_second_call_of_a_decision_has_what_the_first_has_left_of_the_time(
    redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool = redis.ConnectionPool.from_url(redis_url, connection_class=timed(redis.Connection), socket_timeout=60.0)
    waits_s: list[float] = []

    def watching(connection: Any, command: bytes, parts: int) -> list[int]:
        waits_s.append(connection._sock.gettimeout())
        return exchange(connection, command, parts)

    with redis.Redis(connection_pool=pool) as client:
        store = RedisStore(client)
        store.run(CHECKS, "hit")  # the server knows the script, and a connection rests
        monkeypatch.setattr("ratewindow.limiter.redis.connections.exchange", watching)
        store.run(CHECKS, "hit")
        with limited(60.0, time.monotonic() - 55.0):
            store.run(CHECKS, "hit")
        store.run(CHECKS, "hit")
        store.close()
    assert [wait_s > 5.0 for wait_s in waits_s] == [True, False, True]


@pytest.mark.parametrize("enforce", [True, False], ids=["enforcing", "in shadow"])
@pytest.mark.parametrize("what", ["hit", "charge", "force"])
def test_what_a_foreign_key_makes_fail_has_charged_nothing(redis_url: str, enforce: bool, what: What) -> None:
    """Of another rule's window, whichever of the two rules comes first."""
    with redis.Redis.from_url(redis_url) as client:
        client.sadd("foreign", "not ours")
        good = Check("good", (Window(5, 60_000),), ("good",), counts_refused=True)
        harmed = Check("harmed", (Window(5, 60_000), Window(9, 1000)), ("also good", "foreign"), enforce=enforce)
        for checks in ([good, harmed], [harmed, good]):
            with pytest.raises(redis.ResponseError, match="WRONGTYPE"):
                RedisStore(client).run(checks, what)
        assert client.keys() == [b"foreign"]
