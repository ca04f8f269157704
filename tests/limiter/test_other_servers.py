"""Servers that are none of Redis' or Valkey's own: their Lua is another, or it may not tell the time."""

import os
import random
import subprocess
import sys
from typing import Any

import fakeredis
import pytest
from fakeredis.commands_mixins import scripting_mixin

from ratewindow.limiter import Limiter, RedisStore, Window
from tests.limiter.histories import ALGORITHMS, history
from tests.limiter.test_conformance import Trial

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
