"""The stores that the conformance suite runs over: a real server, fakeredis, and memory."""

from collections.abc import Iterator

import fakeredis
import pytest
import redis

from ratewindow.limiter import MemoryStore, RedisStore, scripts
from ratewindow.limiter.limiter import Store


@pytest.fixture(params=["server", "fakeredis", "memory"])
def store(request: pytest.FixtureRequest, redis_url: str) -> Iterator[Store]:
    """An empty store of each kind."""
    match request.param:
        case "server":
            with redis.Redis.from_url(redis_url) as client:
                yield RedisStore(client)
        case "fakeredis":
            yield RedisStore(fakeredis.FakeRedis(server=fakeredis.FakeServer()))
        case _:
            yield MemoryStore()


@pytest.fixture
def never_expiring(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """State that stays until the script itself drops it: its times are the test's, the server's expiry is not."""
    read = scripts._read

    def without_expiry(name: str) -> str:
        kept = [line for line in read(name).splitlines() if "'PEXPIRE'" not in line]
        return "\n".join(line.partition(", 'PX', ")[0] + ")" if ", 'PX', " in line else line for line in kept) + "\n"

    monkeypatch.setattr(scripts, "_read", without_expiry)
    scripts._join.cache_clear()
    yield
    monkeypatch.undo()
    scripts._join.cache_clear()
