"""What is given instead of an identity, windows, a store or a client: it works where it is plain what is meant, or is named."""

from collections.abc import Callable
from typing import Any

import fakeredis
import pytest
import redis
import redis.asyncio

from ratewindow.identity import joined
from ratewindow.limiter import (
    AsyncClusterStore,
    AsyncRedisStore,
    ClusterStore,
    Limiter,
    MemoryStore,
    RedisStore,
    SlidingCounter,
    Window,
    is_action_allowed,
)
from ratewindow.limiter.rates import parse_rates
from ratewindow.limiter.types import MOST_IN_A_CALL, Check

MINUTE, DAY = Window(5, period_ms=60_000), Window(100, period_ms=86_400_000)


@pytest.fixture
def limiter() -> Limiter:
    return Limiter(MemoryStore())


def test_identities_that_belong_together_are_a_tuple(limiter: Limiter) -> None:
    assert limiter.hit(("ip:203.0.113.9", "user:42"), [MINUTE]).remaining == 4
    assert limiter.hit(("ip:203.0.113.9", "user:42"), [MINUTE]).remaining == 3
    assert limiter.hit(joined(["ip:203.0.113.9", "user:42"]), [MINUTE]).remaining == 2  # as requests have it
    assert limiter.hit(("ip:203.0.113.9user:", "42"), [MINUTE]).remaining == 4
    assert limiter.hit(("user:42",), [MINUTE]).remaining == 4
    assert limiter.hit("user:42", [MINUTE]).remaining == 3
    limiter.reset(("ip:203.0.113.9", "user:42"), [MINUTE])
    assert limiter.peek(("ip:203.0.113.9", "user:42"), [MINUTE]).remaining == 5


@pytest.mark.parametrize("who", [42, None, b"user:42", ["user:42"], (), ("user", 42), 1.5, {"user:42"}])
def test_an_identity_that_is_no_text_is_named(limiter: Limiter, who: Any) -> None:
    for ask in (limiter.hit, limiter.peek, limiter.refund, limiter.reset):
        with pytest.raises(TypeError, match="give a text, such as 'user:42', or several as a tuple"):
            ask(who, [MINUTE])


@pytest.mark.parametrize(
    "given",
    [
        lambda: MINUTE,
        lambda: (MINUTE, DAY),
        lambda: (window for window in (MINUTE, DAY)),
        lambda: {MINUTE, DAY},
        lambda: {1: MINUTE, 2: DAY}.values(),
        lambda: {1: MINUTE}.values(),
    ],
)
def test_windows_are_one_or_any_number_of_them(limiter: Limiter, given: Callable[[], Any]) -> None:
    assert limiter.hit("user:42", given()).remaining == 4
    assert limiter.hit("user:42", given()).remaining == 3
    limiter.refund("user:42", given())
    assert limiter.peek("user:42", given(), penalty_ms=1000).remaining == 4
    limiter.reset("user:42", given())
    assert limiter.charge("user:42", given(), 1).remaining == 4


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("5/m", "'5/m' is not a window: ratewindow.limiter.rates.parse_rates makes windows of text"),
        (["5/m"], "parse_rates"),
        ([5], "5 is not a window: give some such as"),
        ([MINUTE, None], "None is not a window"),
        ({1: MINUTE}, "1 is not a window"),
        ({1: MINUTE, 2: DAY}, "1 is not a window"),
        (5, "5 is not a window"),
    ],
)
def test_what_is_no_window_is_named(limiter: Limiter, given: Any, told: str) -> None:
    with pytest.raises(TypeError, match=told):
        limiter.hit("user:42", given)


def test_no_windows_in_a_generator_are_none(limiter: Limiter) -> None:
    with pytest.raises(ValueError, match="no windows: give at least one"):
        limiter.hit("user:42", iter(()))


def test_a_client_is_as_good_as_its_store(redis_url: str) -> None:
    with redis.Redis.from_url(redis_url) as client:
        assert [Limiter(client).hit("user:42", [MINUTE]).remaining for _ in range(2)] == [4, 3]
    assert Limiter(fakeredis.FakeRedis(server=fakeredis.FakeServer())).hit("user:42", [MINUTE]).remaining == 4


async def test_an_asynchronous_client_is_as_good_as_its_store(redis_url: str) -> None:
    async with redis.asyncio.Redis.from_url(redis_url) as client:
        assert (await Limiter(client).ahit("user:42", [MINUTE])).remaining == 4


@pytest.mark.parametrize("given", [None, "redis://:secret@cache", 5, MemoryStore, object()])
def test_what_is_neither_store_nor_client_is_named_when_it_is_given(given: Any) -> None:
    with pytest.raises(TypeError, match=r"is not a store: give MemoryStore\(\), or a client of redis-py or its store") as told:
        Limiter(given)
    assert "secret" not in str(told.value)
    if given is not None:
        with pytest.raises(TypeError, match="is not a store"):
            SlidingCounter(5, "seconds", store=given)


def _one() -> Any:
    return redis.Redis()


def _one_async() -> Any:
    return redis.asyncio.Redis()


def _cluster() -> Any:
    return redis.RedisCluster.__new__(redis.RedisCluster)  # it would ask its servers at once


def _cluster_async() -> Any:
    return redis.asyncio.RedisCluster(host="127.0.0.1")


@pytest.mark.parametrize("right", ["RedisStore", "AsyncRedisStore", "ClusterStore", "AsyncClusterStore"])
@pytest.mark.parametrize("wrong", [RedisStore, AsyncRedisStore, ClusterStore, AsyncClusterStore])
async def test_a_client_of_another_kind_is_told_its_store(wrong: Any, right: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redis.RedisCluster, "nodes_manager", None, raising=False)
    monkeypatch.setattr(redis.RedisCluster, "__del__", lambda self: None)
    client = {"RedisStore": _one, "AsyncRedisStore": _one_async, "ClusterStore": _cluster, "AsyncClusterStore": _cluster_async}
    if wrong.__name__ != right:
        with pytest.raises(TypeError, match=f"is not a client for {wrong.__name__}: give it to {right}$"):
            wrong(client[right]())


@pytest.mark.parametrize("given", [None, "redis://:secret@cache", 5])
@pytest.mark.parametrize("store", [RedisStore, AsyncRedisStore, ClusterStore, AsyncClusterStore])
def test_what_is_no_client_is_told_how_to_make_one(store: Any, given: Any) -> None:
    name = store.__name__
    with pytest.raises(TypeError, match=rf"is not a client for {name}: write {name}\(redis\.\S+from_url\(url\)\)") as told:
        store(given)
    assert "secret" not in str(told.value)


def test_an_action_wants_a_store_that_stays(redis_url: str) -> None:
    with redis.Redis.from_url(redis_url) as client, pytest.raises(TypeError, match="make a RedisStore of the client once"):
        is_action_allowed(42, "reply", 60, 3, store=client)


@pytest.mark.parametrize(
    ("make", "error", "told"),
    [
        (lambda: SlidingCounter(5, "seconds", name=5), TypeError, "name 5: give a text"),  # type: ignore[arg-type]
        (lambda: SlidingCounter(5, 5), ValueError, "5 is not a unit of time: write a text, such as 'seconds'"),  # type: ignore[arg-type]
        (lambda: Window(1, 1000, ["x"]), ValueError, "is not an algorithm: choose from"),  # type: ignore[arg-type]
        (lambda: Window(1, 1000, None), ValueError, "is not an algorithm: choose from"),  # type: ignore[arg-type]
        (lambda: Window(1, 60_000, "fixed_window", aligned_to=["minute"]), ValueError, "aligned_to"),  # type: ignore[arg-type]
    ],
)
def test_other_wrong_types_are_named_too(make: Callable[[], object], error: type[Exception], told: str) -> None:
    with pytest.raises(error, match=told):
        make()


def test_more_limits_than_a_server_may_be_held_up_for_are_an_error() -> None:
    """It decides them one behind the other, while all others wait."""
    for store in (MemoryStore(), RedisStore(fakeredis.FakeRedis())):
        limiter = Limiter(store)
        many = [Window(5, period_ms=1000 + number) for number in range(MOST_IN_A_CALL + 1)]
        assert limiter.hit("user:42", many[:MOST_IN_A_CALL], penalty_ms=1000)
        with pytest.raises(ValueError, match=r"51 limits, of at most 50, of limiter: let a request match fewer rules"):
            limiter.hit("user:42", many)
        fine = [Window(5, period_ms=period_ms, buckets=1000) for period_ms in (1000, 2000, 3000, 4000)]
        assert limiter.hit("user:42", fine[:3])
        with pytest.raises(
            ValueError, match="4000 buckets in its limits, of at most 3000, of limiter: let a request match fewer"
        ):
            limiter.hit("user:42", fine)
        checks = [
            Check(f"rule{number}", tuple(many[:20]), tuple(f"{number}:{each}" for each in range(20))) for number in range(3)
        ]
        if isinstance(store, RedisStore):
            for what in ("hit", "peek", "charge"):
                with pytest.raises(ValueError, match="one decision has 60 limits, of at most 50, of rule0, rule1, rule2"):
                    store.run(checks, what)
                assert [len(answer.windows) for answer in store.run(checks[:2], what)] == [20, 20]


def test_a_rate_has_at_most_twenty_limits() -> None:
    rates = [f"5/{seconds}s" for seconds in range(1, 22)]
    assert len(parse_rates(";".join(rates[:20]))) == 20
    with pytest.raises(ValueError, match="has 21 limits, of at most 20: write fewer, or several rules"):
        parse_rates(";".join(rates))
