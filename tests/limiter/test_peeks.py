"""A peek answers as a hit would, and leaves every key byte for byte as it was, with its expiry and its place among others."""

from typing import Any

import pytest
import redis

from ratewindow.limiter import MemoryStore, RedisStore, Window
from ratewindow.limiter.limiter import Store
from ratewindow.limiter.types import Check
from tests.support.clock import Clock
from tests.support.histories import ALGORITHMS
from tests.support.stores import open_store

NOW_MS = Clock().now_ms
PERIOD_MS = 60_000
# By what has happened since the states were written: how much later it is, and the limit and the penalty of today.
SINCE: dict[str, tuple[int, int, int]] = {
    "nothing": (0, 4, 30_000),
    "a while": (20_000, 4, 30_000),
    "a lower limit": (20_000, 1, 30_000),
    "a higher limit": (20_000, 9, 30_000),
    "a shorter penalty": (20_000, 4, 1000),
    "all is over": (10 * PERIOD_MS, 4, 30_000),
    "the clock went back a little": (-20_000, 4, 30_000),
    "the clock went back by days": (-5 * 86_400_000, 4, 30_000),
    "the clock went back, and the limit is another": (-5 * 86_400_000, 9, 1000),
}


def check(rule: str, algorithm: str, limit: int = 4, penalty_ms: int = 30_000, **fields: Any) -> Check:
    window = Window(limit, PERIOD_MS, algorithm, burst=limit if algorithm == "leaky_bucket" else None)
    day = Window(limit + 2, 86_400_000, algorithm, burst=limit + 2 if algorithm == "leaky_bucket" else None)
    keys = (f"{rule}:w:{{42}}", f"{rule}:d:{{42}}")
    return Check(rule, (window, day), keys)._replace(penalty_ms=penalty_ms, lock=f"{rule}:l:{{42}}", **fields)


def everything(client: "redis.Redis") -> dict[bytes, tuple[bytes, int]]:
    """Each key, its value as the server has it, and when it expires."""
    return {key: (client.dump(key), client.execute_command("PEXPIRETIME", key)) for key in client.keys("*")}


@pytest.mark.parametrize("since", SINCE)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_on_a_server(redis_url: str, redis_client: "redis.Redis", algorithm: str, since: str) -> None:
    later_ms, limit, penalty_ms = SINCE[since]
    with redis.Redis.from_url(redis_url) as client:
        store = RedisStore(client)
        for _ in range(5):  # the last one is refused, and locks out
            store.run([check("login", algorithm)], "hit", NOW_MS)
        store.run([check("search", algorithm, penalty_ms=0)], "hit", NOW_MS)
        before = everything(redis_client)
        assert len(before) == 5
        today = check("login", algorithm, limit, penalty_ms)
        other = check("search", algorithm, limit, 0)
        for asked in ([today], [other], [today._replace(penalty_ms=0)], [other, today], [today._replace(enforce=False), other]):
            store.run(asked, "peek", NOW_MS + later_ms)
        store.run([Check("login", today.windows[:1], today.keys[:1])], "peek", NOW_MS + later_ms)
        store.run([today._replace(counts_refused=True, cost=7)], "peek", NOW_MS + later_ms)
        assert everything(redis_client) == before


@pytest.mark.parametrize("since", SINCE)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_in_memory(algorithm: str, since: str) -> None:
    later_ms, limit, penalty_ms = SINCE[since]
    store = MemoryStore()
    for rule in ("login", "search"):
        for _ in range(5):
            store.run([check(rule, algorithm)], "hit", NOW_MS)

    def states() -> list[Any]:
        return [list(each.items()) for each in (store._states._ordinary, store._states._refused)]

    before = states()
    for enforce in (True, False):
        store.run([check("login", algorithm, limit, penalty_ms, enforce=enforce)], "peek", NOW_MS + later_ms)
    assert states() == before


@pytest.fixture(params=["server", "memory", "cluster"])
def store(request: pytest.FixtureRequest) -> Any:
    yield from open_store(request.param, request)


@pytest.mark.usefixtures("never_expiring")
@pytest.mark.parametrize("since", SINCE)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_it_answers_as_a_hit_would_that_is_refused(store: Store, algorithm: str, since: str) -> None:
    """By a rule of another client, in another slot of a cluster: so nothing is charged."""
    later_ms, limit, penalty_ms = SINCE[since]
    full = Check("full", (Window(0, PERIOD_MS),), ("f:{43}",))
    for _ in range(5):
        store.run([check("login", algorithm)], "hit", NOW_MS)
    asked = [check("login", algorithm, limit, penalty_ms), full]
    peeked = [store.run(asked, "peek", NOW_MS + later_ms) for _ in range(2)]
    own, _ = store.run(asked, "hit", NOW_MS + later_ms)
    assert peeked[0] == peeked[1]
    assert [window[1:4] for window in peeked[0][0].windows] == [window[1:4] for window in own.windows]


@pytest.mark.usefixtures("never_expiring")
@pytest.mark.parametrize("algorithm", ["token_bucket", "leaky_bucket"])
def test_a_refused_hit_lets_a_bucket_drain_by_the_edited_limit_on_several_servers_too(store: Store, algorithm: str) -> None:
    full = Check("full", (Window(0, PERIOD_MS),), ("f:{43}",))
    for _ in range(4):
        store.run([check("login", algorithm)], "hit", NOW_MS)
    slower = check("login", algorithm, limit=1, penalty_ms=0)
    wait_ms = store.run([slower, full], "hit", NOW_MS)[0].windows[0].wait_ms
    assert wait_ms == 4 * PERIOD_MS
    assert store.run([slower], "peek", NOW_MS + wait_ms - 1)[0].windows[0].remaining == 0
