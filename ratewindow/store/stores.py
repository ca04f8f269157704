"""The stores that this process decides by: one for threads and one for each event loop."""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from typing import TYPE_CHECKING, Any

from ratewindow import conf
from ratewindow.limiter.memory import MemoryStore
from ratewindow.limiter.redis import faults
from ratewindow.limiter.redis.store import store_of
from ratewindow.limiter.types import Check, Window
from ratewindow.store import clients, process_clients, state_keys
from ratewindow.store.breaker import Breakers

if TYPE_CHECKING:
    from ratewindow.limiter import AsyncClusterStore, AsyncRedisStore, ClusterStore, RedisStore

_travelled_ms = 0
_memory = MemoryStore(clock_ms=lambda: time.time_ns() // 1_000_000 + _travelled_ms)


class _Stores:
    """The stores by one reading of the settings. Where these change it is replaced as a whole, so that a store which a thread is
    making by the former ones is asked by nobody else."""

    def __init__(self) -> None:
        self.of_threads: RedisStore | ClusterStore | None = None
        self.of_loop: dict[asyncio.AbstractEventLoop, tuple[AsyncRedisStore | AsyncClusterStore, AsyncGenerator[Any]]] = {}


held = _Stores()


def travel(duration_ms: int) -> None:
    """Move the clock of counting in memory, for tests; other settings reset it."""
    global _travelled_ms
    _travelled_ms += duration_ms


def store() -> "RedisStore | ClusterStore | MemoryStore":
    """For threads."""
    now = held
    if now.of_threads is None:
        if process_clients.in_memory():
            return _memory
        now.of_threads = store_of(process_clients.client(), conf.current().timeout_s, shards)
    return now.of_threads


async def astore() -> "AsyncRedisStore | AsyncClusterStore | MemoryStore":
    """For the running event loop: a connection belongs to the loop that opened it."""
    of_loop = held.of_loop
    if process_clients.in_memory():
        return _memory
    loop = asyncio.get_running_loop()
    if loop not in of_loop:
        for ended in [each for each in list(of_loop) if each.is_closed()]:  # ended without closing their generators
            of_loop.pop(ended, None)
        keeper = _keep(loop, of_loop)
        of_loop[loop] = await anext(keeper), keeper
    return of_loop[loop][0]


async def _keep(loop: asyncio.AbstractEventLoop, of_loop: dict[Any, Any]) -> AsyncGenerator[Any]:
    """A store for as long as its loop runs: a loop closes its generators when it ends."""
    client = process_clients.async_client()
    try:
        # A pipeline's limit ends before the decision's own, so that the silent server can be named.
        yield store_of(client, 0.9 * conf.current().timeout_s, shards)
    finally:
        of_loop.pop(loop, None)
        await clients.aclose(client)


async def aclose() -> None:
    """Close the connections of the running event loop; the next decision opens new ones."""
    found = held.of_loop.get(asyncio.get_running_loop())
    if found:
        await found[1].aclose()


async def answered(answer: Any) -> Any:
    """The answer of a store of either kind; that in memory need not be awaited."""
    return await answer if hasattr(answer, "__await__") else answer


def probe() -> None:
    """Raise as a decision would. By a write, since a server that is full or read-only answers PING. Of a cluster only the slots
    are asked for: its servers have breakers of their own."""
    probed: Any = store()
    if hasattr(probed, "renew"):
        probed.renew()
        return
    check = Check("probe", (Window(1_000_000, 1000),), (state_keys.probe(),))
    _probe(lambda: probed.run([check], "hit"))


def probe_all() -> None:
    """`probe`, and on a cluster each of its servers, too."""
    probe()
    probed: Any = store()
    for server in probed.servers() if hasattr(probed, "servers") else ():
        _probe_shard(server)


def _probe_shard(server: str) -> None:
    cluster: Any = store()
    cluster.renew()  # a replica may have taken over, and then nothing of ours is here
    _probe(lambda: cluster.probe(server, state_keys.probe()))


def _probe(call: Callable[[], object]) -> None:
    """Call; a value that another program wrote under the probe's key is no fault of the server."""
    try:
        call()
    except Exception as error:
        if faults.of(error).concerns is faults.Concerns.SERVER:
            raise


shards = Breakers(_probe_shard, lambda: "requests of its clients are decided without it")


def close() -> None:
    """Close what threads have open, and forget what was counted in memory: the settings have changed."""
    global _travelled_ms
    closed = held.of_threads
    drop()
    if closed is not None:
        closed.close()
    _memory.clear()
    _travelled_ms = 0


def drop() -> None:
    """In a fork: the parent's connections are neither used nor closed."""
    global held
    dropped, held = held, _Stores()
    dropped.of_loop.clear()  # each keeper refers to it, and is closed by its loop once nothing refers to the keeper
