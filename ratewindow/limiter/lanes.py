"""The way to each node of a cluster on asyncio: a pipeline of its own, so that a silent node holds up no other."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from redis.exceptions import ClusterDownError, RedisClusterException
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError

from ratewindow.limiter.pipelined import Pipelined
from ratewindow.limiter.wire import Call, Words

if TYPE_CHECKING:
    import redis.asyncio

_AWAY = (RedisConnectionError, RedisTimeoutError, ClusterDownError)


class Lanes:
    """Sends every call to the node that has its key; redirections are followed."""

    def __init__(self, client: "redis.asyncio.RedisCluster") -> None:
        self._client = client
        self._of_nodes: dict[str, _Lane] = {}

    def call(self, call: Call) -> "asyncio.Future[Any]":
        try:
            node = self._client.get_node_from_key(call.key)
        except RedisClusterException:  # as long as nobody knows who has which keys
            node = None
        name = node.name if node else ""
        lane = self._of_nodes.get(name)
        if lane is None:
            lane = self._of_nodes[name] = _Lane(self._client)
        return lane.call(lambda: call)


class _Lane(Pipelined):
    def __init__(self, cluster: "redis.asyncio.RedisCluster") -> None:
        super().__init__(cluster)  # type: ignore[arg-type]  # only what is overridden below asks more of it
        self._cluster = cluster

    async def _round_trip(self, commands: Sequence[Words | bytes]) -> list[Any]:
        pipe = self._cluster.pipeline()
        for words in commands:  # never packed: the client sees to redirections, and must know the key
            pipe.execute_command(*words)
        with as_redis_errors():
            replies: list[Any] = await pipe.execute(raise_on_error=False)
        if any(isinstance(reply, _AWAY) for reply in replies):
            self._cluster._initialize = True  # the next call asks anew who has which slots: a replica may have taken over
        return replies


@contextmanager
def as_redis_errors() -> Iterator[None]:
    """A cluster that cannot be used is a ConnectionError; redis-py's own exception for it is no RedisError."""
    try:
        yield
    except (RedisClusterException, AttributeError) as error:  # AttributeError: sent on to a node it has not heard of
        raise RedisConnectionError(f"{type(error).__name__}: {error}") from error
