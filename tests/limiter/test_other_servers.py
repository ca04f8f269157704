"""Servers that are none of Redis' or Valkey's own: their Lua is another, or it may not tell the time."""

import asyncio
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import fakeredis
import pytest
import redis
import redis.asyncio
from fakeredis.commands_mixins import scripting_mixin

from ratewindow.limiter import AsyncClusterStore, AsyncRedisStore, ClusterStore, Decision, Limiter, RedisStore, Window
from ratewindow.limiter.redis.commands import ServerClock
from ratewindow.limiter.redis.faults import NoScripts
from ratewindow.limiter.reply import Reply
from ratewindow.limiter.types import Check
from tests.support import servers
from tests.support.clock import Clock
from tests.support.histories import ALGORITHMS, history
from tests.support.servers import server_of_its_own
from tests.support.trial import Trial

IS_NEW = scripting_mixin.LUA_VERSION == "5.4"


@pytest.fixture
def dragonfly(monkeypatch: pytest.MonkeyPatch) -> RedisStore:
    """fakeredis as Dragonfly: its Lua may tell 3.0 from 3, and what is no integer is answered as text."""
    convert = scripting_mixin.ScriptingCommandsMixin._convert_lua_result

    def converted(self: Any, result: Any, nested: bool = True) -> Any:
        return f"{result:.17g}".encode() if isinstance(result, float) and IS_NEW else convert(self, result, nested)

    monkeypatch.setattr(scripting_mixin.ScriptingCommandsMixin, "_convert_lua_result", converted)
    client = fakeredis.FakeRedis(server=fakeredis.FakeServer(server_type="dragonfly"))
    assert client.eval("return math.type and 1 or 0", 0) == IS_NEW
    return RedisStore(client)


@pytest.mark.skipif(IS_NEW, reason="this is what it starts")
def test_all_of_this_holds_under_lua_5_4() -> None:
    """In a process of its own: the libraries of two versions of Lua do not live together in one."""
    command = [sys.executable, "-m", "pytest", __file__, "-q", "-x", "-p", "no:cacheprovider", "-k", "dragonfly"]
    done = subprocess.run(
        command, env={**os.environ, "FAKEREDIS_LUA_VERSION": "5.4"}, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout
    assert f"{2 * len(ALGORITHMS)} passed" in done.stdout


@pytest.mark.usefixtures("never_expiring")
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_dragonfly_answers_as_redis_does(dragonfly: RedisStore, algorithm: str) -> None:
    for seed in range(4):
        trial = Trial(dragonfly)
        for step in history(random.Random(algorithm).randrange(1000) + seed, 60, [algorithm]):
            trial.take(step)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_dragonfly_decides_by_its_own_clock(dragonfly: RedisStore, algorithm: str) -> None:
    limiter, window, day = Limiter(dragonfly), Window(5, 60_000, algorithm), Window(9, 86_400_000, algorithm)
    decision = limiter.hit("user:42", [window])
    assert (decision.allowed, decision.limit) == (True, 5)
    assert limiter.charge("user:42", [window], 4)
    assert limiter.hit("user:43", [window, day], 1, penalty_ms=1000, count_refused=True)
    limiter.refund("user:42", [window], decision=decision)
    assert limiter.peek("user:44", [window, day])


REFUSING = ("--rename-command", "TIME", "NOTIME")  # as hosted servers do, if with other words
WITHOUT_LUA = ("--rename-command", "EVAL", "NOEVAL", "--rename-command", "EVALSHA", "NOEVALSHA")
WINDOWS = [Window(5, 60_000), Window(50, 3_600_000, "sliding_log")]


@pytest.fixture(scope="module")
def refusing_port() -> Iterator[int]:
    """Of a server that lets no script read its clock."""
    with server_of_its_own(*REFUSING) as port:
        yield port


@pytest.fixture
def refusing(refusing_port: int) -> Iterator[redis.Redis]:
    with redis.Redis(port=refusing_port) as client:
        client.flushall()
        client.script_flush()
        yield client


def calls_of(client: redis.Redis, name: str) -> int:
    commands: Any = client.info("commandstats")
    return int(commands.get(f"cmdstat_{name}", {"calls": 0})["calls"])


def test_a_server_that_refuses_its_clock_is_asked_by_that_of_the_host(refusing: redis.Redis) -> None:
    limiter = Limiter(RedisStore(refusing), believed_ms=0)
    assert [bool(limiter.hit("user:42", WINDOWS)) for _ in range(7)] == [True] * 5 + [False] * 2
    decision = limiter.hit("user:43", WINDOWS[1], 50, penalty_ms=1000)
    assert decision
    limiter.refund("user:43", WINDOWS[1], 50, decision=decision)
    assert limiter.peek("user:43", WINDOWS[1]).remaining == 50
    for key in refusing.scan_iter():
        assert 0 < refusing.pttl(key) <= 3_600_000 + 60_000  # no longer than by the server's clock


def test_it_is_found_out_once_and_costs_no_round_trip_afterwards(refusing: redis.Redis) -> None:
    limiter = Limiter(RedisStore(refusing), believed_ms=0)
    limiter.hit("user:42", WINDOWS)
    limiter.hit("user:42", WINDOWS)
    before = calls_of(refusing, "evalsha"), calls_of(refusing, "eval")
    for _ in range(5):
        limiter.hit("user:42", WINDOWS)
    assert (calls_of(refusing, "evalsha") - before[0], calls_of(refusing, "eval") - before[1]) == (5, 0)


def test_a_refund_may_be_what_finds_it_out(refusing: redis.Redis) -> None:
    decision = Limiter(RedisStore(refusing)).hit("user:42", WINDOWS)
    Limiter(RedisStore(refusing)).refund("user:42", WINDOWS, decision=decision)
    assert Limiter(RedisStore(refusing)).peek("user:42", WINDOWS).remaining == 5


def test_threads_that_find_it_out_at_the_same_moment_all_have_an_answer(refusing: redis.Redis) -> None:
    limiter = Limiter(RedisStore(refusing), believed_ms=0)
    with ThreadPoolExecutor(8) as pool:
        decisions = list(pool.map(lambda number: limiter.hit(f"user:{number % 2}", [Window(10, 60_000)]), range(40)))
    assert sum(map(bool, decisions)) == 20


def test_on_asyncio_those_that_wait_together_find_it_out_together(refusing_port: int, refusing: redis.Redis) -> None:
    async def ask() -> list[Decision]:
        client = redis.asyncio.Redis(port=refusing_port)
        limiter = Limiter(AsyncRedisStore(client), believed_ms=0)
        decisions = await asyncio.gather(*[limiter.ahit(f"user:{number % 2}", [Window(10, 60_000)]) for number in range(40)])
        await limiter.arefund("user:0", [Window(10, 60_000)], decision=decisions[0])
        decisions.append(await limiter.ahit("user:0", [Window(10, 60_000)]))
        await client.aclose()
        return decisions

    assert sum(map(bool, asyncio.run(ask()))) == 21


def test_on_a_cluster_it_is_the_same_for_clients_of_several_slots() -> None:
    checks = [Check(f"rule{number}", (Window(2, 60_000),), (f"{{{number}}}",)) for number in range(6)]

    async def ask(port: int) -> list[Reply]:
        client = redis.asyncio.RedisCluster(host="127.0.0.1", port=port)
        store = AsyncClusterStore(client)
        replies = [await store.run(checks, "hit") for _ in range(3)]
        await client.aclose()
        return replies

    with servers.cluster_with(*REFUSING) as cluster:
        port = cluster.masters[0]
        with redis.RedisCluster(host="127.0.0.1", port=port) as client:
            store = ClusterStore(client)
            replies = [store.run(checks, "hit") for _ in range(3)]
            store.close()
            assert [reply[0].refuses for reply in replies] == [False, False, True]
            client.flushall(target_nodes=redis.RedisCluster.PRIMARIES)
        assert [reply[0].refuses for reply in asyncio.run(ask(port))] == [False, False, True]


def test_a_given_time_is_no_hosts_matter(refusing: redis.Redis) -> None:
    limiter = Limiter(RedisStore(refusing), clock_ms=Clock())
    assert limiter.hit("user:42", [Window(5, 60_000, "sliding_log")]).reset_after == 60


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_a_server_without_lua_is_named_as_such(is_async: bool) -> None:
    async def ask(port: int) -> Decision:
        client = redis.asyncio.Redis(port=port)
        try:
            return await Limiter(AsyncRedisStore(client)).ahit("user:42", WINDOWS)
        finally:
            await client.aclose()

    with (
        server_of_its_own(*WITHOUT_LUA) as port,
        pytest.raises(NoScripts, match=r"runs no Lua scripts, .* a Redis or Valkey"),
    ):
        if is_async:
            asyncio.run(ask(port))
        else:
            Limiter(RedisStore(redis.Redis(port=port))).hit("user:42", WINDOWS)


@pytest.mark.parametrize(
    "words",
    [
        "This Redis command is not allowed from script script: 53aa7d296ba9ded783301cc275161b6e344ad383, on @user_script:13.",
        "Error running script (call to f_ab): @user_script:1: This Redis command is not allowed from scripts",
        "Unknown Redis command called from script script: 53aa7d296ba9ded783301cc275161b6e344ad383, on @user_script:1.",
        "Unknown command called from script script: on @user_script:277.",
    ],
)
def test_the_words_of_hosted_servers_are_understood(words: str) -> None:
    clock = ServerClock()
    assert clock.may_be_refused(redis.ResponseError(words))
    clock.learn(redis.ResponseError(words))
    assert clock.is_hosts


def test_another_error_says_nothing_about_the_clock() -> None:
    clock = ServerClock()
    for words in ("LOADING Redis is loading", "unknown command 'EVAL', with args beginning with"):
        clock.learn(redis.ResponseError(words))
        assert not clock.is_known
    clock.learn([1])
    assert (clock.is_known, clock.is_hosts) == (True, False)
