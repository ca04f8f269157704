"""The client of a Cluster for threads: redis-py's, which begins late and keeps to the limit of a running decision."""

import threading
from time import monotonic
from typing import Any

import redis
import redis.cluster
from redis.cluster import ClusterNode
from redis.connection import Connection, SSLConnection

from ratewindow.limiter.redis.cluster.pipelines import as_redis_errors
from ratewindow.limiter.redis.thread_deadline import running, shared, still_limited, timed

MOST_S = 2.0  # of background work: an answer that drips in would hold up all who wait for it

_HAS_TRANSACTIONS = hasattr(redis.cluster, "TransactionStrategy")


class ClusterClient(redis.RedisCluster):
    """A cluster whose failures are RedisErrors, as those of a server are.

    redis-py's asks who has which slots when it is made. This one asks when it is first used: then within the limit of
    whoever does so, and again at the next use where nobody answered in time. Background work has time for a cluster
    that is too far away for that.
    """

    def __init__(self, nodes: tuple[tuple[str, int], ...], **options: Any) -> None:
        self._nodes, self._options = nodes, options
        self._turn = threading.RLock()  # one asks, the others wait for what it hears
        self._begins = self._has_begun = False

    def __getattr__(self, name: str) -> Any:
        """What is not there yet, such as the map of the slots."""
        known = self.__dict__
        if not name.startswith("__") and "_has_begun" in known and not self._has_begun:
            with as_redis_errors(), still_limited(MOST_S):
                self._begin()
            if name in known:
                return known[name]
        raise AttributeError(f"{type(self).__name__} has no {name}")

    def execute_command(self, *args: Any, **kwargs: Any) -> Any:
        with as_redis_errors():
            return super().execute_command(*args, **kwargs)  # type: ignore[no-untyped-call]

    def pipeline(self, transaction: Any = None, shard_hint: Any = None) -> Any:
        """Before redis-py 6.2 a cluster has no transactions: what would be one is sent together, and run in this order."""
        return super().pipeline(transaction if _HAS_TRANSACTIONS else None, shard_hint)  # type: ignore[no-untyped-call]

    def close(self) -> None:
        if self.__dict__.get("_has_begun"):
            super().close()

    def _begin(self) -> None:
        if not self._turn.acquire(timeout=max(0.0, running.until_s - monotonic())):
            raise redis.TimeoutError("another thread is asking the cluster who has which slots")
        try:
            if not self._has_begun and not self._begins:  # the second is redis-py's, which looks for what it has not made yet
                self._ask()
        finally:
            self._turn.release()

    def _ask(self) -> None:
        before = dict(self.__dict__)
        self._begins = True
        try:
            options = dict(self._options)
            kind = timed(SSLConnection if options.pop("ssl", False) else Connection)
            (host, port), *rest = self._nodes
            with shared(1):  # one that is silent; further away than half of the time no decision could connect
                super().__init__(  # only with a URL does it take our class of connections
                    url=f"redis://{f'[{host}]' if ':' in host else host}:{port}",
                    startup_nodes=[ClusterNode(*node) for node in rest],
                    connection_class=kind,
                    **options,
                )
            self._has_begun = True
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise
        finally:
            self._begins = False
