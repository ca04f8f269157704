"""redis-py's client of a Cluster for threads, which connects late and keeps to the time limit of a running decision."""

import threading
from time import monotonic
from typing import Any

import redis.cluster
from redis.connection import Connection, SSLConnection

from ratewindow.limiter.redis.cluster.pipelines import as_redis_errors
from ratewindow.limiter.redis.thread_deadline import limited, running, shared, timed

MOST_S = 2.0  # for background work: others wait while an answer drips in

_HAS_TRANSACTIONS = hasattr(redis.cluster, "TransactionStrategy")


class ClusterClient(redis.RedisCluster):
    """A cluster whose failures are RedisErrors, as those of a server are.

    redis-py's own reads the map of the slots when it is made. This one does when it is first used, within the caller's time
    limit, and again at the next use if no server answered. Background work has time for a cluster that is too far away for a
    decision.
    """

    def __init__(self, nodes: tuple[tuple[str, int], ...], **options: Any) -> None:
        self._nodes, self._options = nodes, options
        self._connect_lock = threading.RLock()  # one thread connects, the others wait for it
        self._connecting = self._connected = False

    def __getattr__(self, name: str) -> Any:
        """Connect for an attribute that is set by connecting, such as the map of the slots."""
        known = self.__dict__
        if not name.startswith("__") and "_connected" in known and not self._connected:
            with as_redis_errors(), limited(MOST_S):
                self._connect()
            if name in known:
                return known[name]
        raise AttributeError(f"{type(self).__name__} has no {name}")

    def execute_command(self, *args: Any, **kwargs: Any) -> Any:
        with as_redis_errors():
            return super().execute_command(*args, **kwargs)  # type: ignore[no-untyped-call]

    def pipeline(self, transaction: Any = None, shard_hint: Any = None) -> Any:
        """Before redis-py 6.2 a cluster has no transactions: then commands are sent together and run in this order."""
        return super().pipeline(transaction if _HAS_TRANSACTIONS else None, shard_hint)  # type: ignore[no-untyped-call]

    def close(self) -> None:
        if self.__dict__.get("_connected"):
            super().close()

    def _connect(self) -> None:
        if not self._connect_lock.acquire(timeout=max(0.0, running.until_s - monotonic())):
            raise redis.TimeoutError("another thread is still reading the slots of the cluster")
        try:
            if not self._connected and not self._connecting:  # while connecting, redis-py looks for attributes that it sets later
                self._read_slots()
        finally:
            self._connect_lock.release()

    def _read_slots(self) -> None:
        before = dict(self.__dict__)
        self._connecting = True
        try:
            options = dict(self._options)
            kind = timed(SSLConnection if options.pop("ssl", False) else Connection)
            (host, port), *rest = self._nodes
            with shared(1):  # one silent server must leave time for another
                super().__init__(  # it takes our class of connections only with a URL
                    url=f"redis://{f'[{host}]' if ':' in host else host}:{port}",
                    startup_nodes=[redis.cluster.ClusterNode(*node) for node in rest],
                    connection_class=kind,
                    **options,
                )
            self._connected = True
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise
        finally:
            self._connecting = False
