"""A redis-py whose connections have none of the parts that the fast way uses: everything goes by public names."""

from collections.abc import Iterator
from typing import Any

import fakeredis
import pytest
import redis
from redis.exceptions import ResponseError

from ratewindow.limiter import Limiter, RedisStore, Window
from ratewindow.limiter.redis.thread_deadline import timed

LIMIT = [Window(3, period_ms=60_000)]


class PublicConnection:
    """One of redis-py, of which only the public names can be used."""

    def __init__(self, **options: Any) -> None:
        self.__connection = redis.Connection(**options)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.__connection, name)


@pytest.fixture(params=[PublicConnection, timed(PublicConnection)], ids=["plain", "timed"])
def store(request: pytest.FixtureRequest, redis_url: str) -> Iterator[RedisStore]:
    pool = redis.ConnectionPool.from_url(redis_url, socket_timeout=10.0)
    pool.connection_class = request.param
    store = RedisStore(redis.Redis(connection_pool=pool))
    yield store
    store.close()


def test_it_decides_refunds_and_forgets_as_the_fast_way_does(store: RedisStore) -> None:
    limiter = Limiter(store)
    assert [limiter.hit("user:42", LIMIT).allowed for _ in range(4)] == [True, True, True, False]
    limiter.refund("user:42", LIMIT, 2)
    assert limiter.peek("user:42", LIMIT).remaining == 2
    limiter.reset("user:42", LIMIT)
    assert limiter.peek("user:42", LIMIT).remaining == 3


def test_scripts_that_the_server_has_forgotten_are_sent_again(store: RedisStore, redis_client: redis.Redis) -> None:
    limiter = Limiter(store)
    assert limiter.hit("user:42", LIMIT)
    redis_client.script_flush()
    assert limiter.hit("user:42", LIMIT).remaining == 1


def test_an_error_of_the_server_is_that_of_redis_py(store: RedisStore, redis_client: redis.Redis) -> None:
    limiter = Limiter(store)
    assert limiter.hit("user:42", LIMIT)
    [key] = redis_client.keys()
    redis_client.delete(key)
    redis_client.sadd(key, "of another program")
    with pytest.raises(ResponseError, match="WRONGTYPE"):
        limiter.peek("user:42", LIMIT)


@pytest.mark.parametrize("protocol", [2, 3])
def test_a_client_without_a_socket_is_asked_by_its_public_names(protocol: int) -> None:
    limiter = Limiter(RedisStore(fakeredis.FakeRedis(server=fakeredis.FakeServer(), protocol=protocol)))
    assert [limiter.hit("user:42", LIMIT).allowed for _ in range(4)] == [True, True, True, False]
