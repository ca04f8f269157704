"""The stores that tests of the limiter run over: real servers, one or several, fakeredis, and memory."""

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any

import fakeredis
import pytest
import redis
import redis.asyncio

from ratewindow.limiter import AsyncClusterStore, ClusterStore, MemoryStore, RedisStore
from ratewindow.limiter.limiter import Store
from ratewindow.limiter.redis import commands
from ratewindow.limiter.types import Check, Refunds, What
from ratewindow.store.clients import connect, parse


class Awaited:
    """An asynchronous store, asked as if it were none."""

    is_async = False

    def __init__(self, store: Store, runner: asyncio.Runner) -> None:
        self._store, self._runner = store, runner

    def run(self, checks: list[Check], what: What, now_ms: int | None = None) -> list[int]:
        return self._await(lambda: self._store.run(checks, what, now_ms))

    def refund(self, refunds: Refunds, now_ms: int | None = None) -> None:
        self._await(lambda: self._store.refund(refunds, now_ms))

    def reset(self, keys: Sequence[str]) -> None:
        self._await(lambda: self._store.reset(keys))

    def _await(self, ask: Any) -> Any:
        async def answer() -> Any:
            return await ask()

        return self._runner.run(answer())


def open_store(kind: str, request: pytest.FixtureRequest) -> Iterator[Store]:
    match kind:
        case "server":
            with redis.Redis.from_url(request.getfixturevalue("redis_url")) as client:
                yield RedisStore(client)
        case "fakeredis":
            yield RedisStore(fakeredis.FakeRedis(server=fakeredis.FakeServer()))
        case "cluster":
            yield ClusterStore(request.getfixturevalue("cluster"))
        case "asynchronous cluster":
            request.getfixturevalue("cluster")
            port = request.getfixturevalue("cluster_ports")[0]
            with asyncio.Runner() as runner:
                cluster = redis.asyncio.RedisCluster(host="127.0.0.1", port=port)
                store = AsyncClusterStore(cluster)
                yield Awaited(store, runner)
                runner.run(cluster.aclose())
        case "sentinel":
            with connect(parse(request.getfixturevalue("watched").url), {}, {}) as client:
                yield RedisStore(client)
        case _:
            yield MemoryStore()


@pytest.fixture
def never_expiring(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """State that stays until the script itself drops it: its times are the test's, the server's expiry is not."""
    read = commands._read

    def without_expiry(name: str) -> str:
        kept = [line for line in read(name).splitlines() if "'PEXPIRE'" not in line]
        return "\n".join(line.partition(", 'PX', ")[0] + ")" if ", 'PX', " in line else line for line in kept) + "\n"

    monkeypatch.setattr(commands, "_read", without_expiry)
    commands._join.cache_clear()
    yield
    monkeypatch.undo()
    commands._join.cache_clear()
