"""The way to each server of a cluster: which one has a key, and on asyncio a pipeline to each, so that a silent server holds up
no other."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from redis.asyncio.cluster import ClusterNode, RedisCluster
from redis.crc import key_slot
from redis.exceptions import (
    AskError,
    ConnectionError as RedisConnectionError,
    MovedError,
    NoScriptError,
    RedisClusterException,
    RedisError,
    TryAgainError,
)

from ratewindow.limiter.redis import faults, insides
from ratewindow.limiter.redis.commands import Call, ServerClock
from ratewindow.limiter.redis.pipeline import Pipelined, Waiting, time_limit

Address = tuple[str, int]

MOST_HOPS = 8  # from server to server, for one call
TRY_AGAIN_S = 0.005  # while a slot is on its way, and its keys are partly here and partly there
RENEW_S = 0.25  # how often at most the map of slots is read


def name_of(address: Address) -> str:
    return f"{address[0]}:{address[1]}"


class Slots:
    """The map of a cluster's client, sync or async, which is the client's to renew."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._moved: dict[int, Address] = {}

    def home(self, key: str) -> Address:
        """The server that has the key; a ConnectionError while nobody knows."""
        slot = key_slot(key.encode())
        moved = self._moved.get(slot)
        if moved is not None:
            return moved
        nodes = self._client.nodes_manager.slots_cache.get(slot)
        if not nodes:
            raise RedisConnectionError(f"no server of the cluster is known to have slot {slot}")
        return nodes[0].host, nodes[0].port

    def redirected_to(self, error: AskError, by: Address) -> Address:
        """The server that a redirection names; one without a host is on the host of the server that answered."""
        remapped: Address = self._client.nodes_manager.remap_host_port(error.host or by[0], error.port)
        return remapped

    def move(self, slot: int, address: Address) -> None:
        self._moved[slot] = address

    def renewed(self) -> None:
        """The client's map is newer than what servers said."""
        self._moved = {}

    def servers(self) -> list[Address]:
        """All that have slots."""
        return sorted(set(self._homes().values()))

    def key_at(self, address: Address, name: str) -> str | None:
        """A key of that name with a hash tag that this server has; None when it has no slots."""
        slots = {slot for slot, home in self._homes().items() if home == address}
        if not slots:
            return None
        number = 0
        while key_slot(b"%d" % number) not in slots:
            number += 1
        return f"{name}:{{{number}}}"

    def _homes(self) -> dict[int, Address]:
        """Who has which slot."""
        known = list(self._client.nodes_manager.slots_cache.items())
        return {slot: (nodes[0].host, nodes[0].port) for slot, nodes in known if nodes} | self._moved


class Lanes:
    """Sends every call to the server that has its key; redirections are followed.

    The map of slots is read before the first call, and again in the background once a server has failed.
    """

    def __init__(self, client: RedisCluster, limit_s: float | None, watch: faults.Watch) -> None:
        self.client, self.limit_s, self.watch = client, limit_s, watch
        self.slots, self.clock = Slots(client), ServerClock()
        self._of: dict[Address, _Lane] = {}
        self._renewing: asyncio.Task[None] | None = None
        self._renewed_s = float("-inf")
        self._avoided: set[Address] = set()  # servers that were not asked, since they were known to be away
        self._catching_up: asyncio.Task[None] | None = None
        self._following: set[asyncio.Task[None]] = set()  # the loop itself does not keep them

    def check(self, call: Call) -> None:
        """Raises when the server of this call is known to be away."""
        try:
            home = self.slots.home(call.key)
        except RedisConnectionError:  # nobody knows yet which one that is
            return
        self._open(home)

    def call(self, call: Call, read: Callable[[list[int]], Any] | None = None) -> "asyncio.Future[Any]":
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        waiting = Waiting(lambda: call, call.parts, None, answer, read)
        if self.client.nodes_manager.slots_cache:
            self.send(waiting)
        else:
            self.follow(self._once_known(waiting))
        return answer

    def send(self, waiting: Waiting) -> None:
        """To the server that has the key."""
        try:
            home = self.slots.home(waiting.call().key)
            self._open(home)
        except RedisError as error:
            self.renew_soon()
            waiting.settle(error)
            return
        if home in self._avoided:
            self.follow(self._once_up_to_date(waiting))
        else:
            self._lane(home).add(waiting)

    def follow(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._following.add(task)
        task.add_done_callback(self._following.discard)

    def renew_soon(self) -> "asyncio.Task[None] | None":
        """Ask the cluster who has which slots, unless somebody has just done so."""
        loop = asyncio.get_running_loop()
        if self._renewing is None and loop.time() - self._renewed_s >= RENEW_S:
            self._renewing = loop.create_task(self._renew())
        return self._renewing

    async def _renew(self) -> None:
        try:
            # Its connections have limits of their own, for one server each: the next one is tried then.
            await insides.read_slots(self.client)
            self.slots.renewed()
        except (RedisError, RedisClusterException, OSError):
            pass  # as long as nobody answers, the old map stands
        finally:
            self._renewing, self._renewed_s = None, asyncio.get_running_loop().time()

    async def _known(self) -> None:
        """Wait until the map of slots is known; no longer than a call may."""
        with suppress(TimeoutError):
            async with time_limit(self.limit_s):
                if (renewing := self.renew_soon()) is not None:
                    await asyncio.shield(renewing)

    async def _once_up_to_date(self, waiting: Waiting) -> None:
        """A server that was away is so no more. It may be back; or another has its slots now, and our map is an old one."""
        if self._catching_up is None:
            self._catching_up = asyncio.get_running_loop().create_task(self._catch_up())
        await asyncio.shield(self._catching_up)
        self.send(waiting)

    async def _catch_up(self) -> None:
        try:
            if self._renewing is not None:  # begun too early, perhaps
                await asyncio.shield(self._renewing)
            self._renewed_s = float("-inf")
            await self._known()
        finally:
            self._catching_up = None
            self._avoided.clear()

    async def _once_known(self, waiting: Waiting) -> None:
        await self._known()
        self.send(waiting)

    def _open(self, home: Address) -> None:
        fault = self.watch.away(name_of(home))
        if fault is not None:
            self._avoided.add(home)
            raise faults.ServerAway(name_of(home), fault)

    def _lane(self, address: Address) -> "_Lane":
        lane = self._of.get(address)
        if lane is None:
            lane = self._of[address] = _Lane(self, address)
        return lane


class _Connections:
    """Those that the cluster's client keeps to one server, and closes when it is closed."""

    def __init__(self, client: RedisCluster, address: Address, limited: bool) -> None:
        self._client, self._address, self._limited = client, address, limited
        self._in_use: dict[Any, ClusterNode] = {}

    async def get_connection(self) -> Any:
        node = self._node()
        connection: Any = node.acquire_connection()
        self._in_use[connection] = node
        if self._limited:  # as a whole, and without our own loop's lag
            connection.socket_timeout = connection.socket_connect_timeout = None
        try:
            if await insides.has_ended(connection):
                await connection.disconnect(nowait=True)
            await connection.connect()
        except BaseException:
            await self.release(connection)
            raise
        return connection

    async def release(self, connection: Any) -> None:
        insides.release(self._in_use.pop(connection), connection)

    def _node(self) -> ClusterNode:
        manager, name = self._client.nodes_manager, name_of(self._address)
        node = manager.nodes_cache.get(name)
        if node is None:  # known only by a redirection
            node = manager.nodes_cache[name] = ClusterNode(*self._address, "primary", **manager.connection_kwargs)
        return node


class _Lane(Pipelined):
    def __init__(self, lanes: Lanes, address: Address) -> None:
        super().__init__(_Connections(lanes.client, address, lanes.limit_s is not None), lanes.limit_s, lanes.clock)
        self._lanes, self._address = lanes, address

    async def _begin_anew(self) -> None:
        """A cluster's client has more that belongs to its loop than connections: it must be another one."""

    def _failed(self, error: Exception) -> Exception:
        if faults.of(error).concerns is not faults.Concerns.SERVER:
            return error
        name = name_of(self._address)
        self._lanes.watch.failed(name, error)
        self._lanes.renew_soon()
        return faults.ServerAway(name, faults.of(error).name, error)

    def _settle(self, batch: Sequence[Waiting], replies: Sequence[Any]) -> None:
        trouble = next((reply for reply in replies if _is_trouble(reply)), None)
        away = self._failed(trouble) if trouble else None
        if away is None:
            self._lanes.watch.succeeded(name_of(self._address))
        for waiting, reply in zip(batch, replies, strict=True):
            if isinstance(reply, AskError | TryAgainError) and waiting.hops < MOST_HOPS:
                self._redirect(waiting._replace(hops=waiting.hops + 1), reply)
            else:
                waiting.settle(away if away and _is_trouble(reply) else reply)

    def _redirect(self, waiting: Waiting, error: AskError | TryAgainError) -> None:
        """To where an answer sends this call; it was not run here."""
        if isinstance(error, TryAgainError):
            asyncio.get_running_loop().call_later(TRY_AGAIN_S, self._lanes.send, waiting)
            return
        to = self._lanes.slots.redirected_to(error, self._address)
        if isinstance(error, MovedError):
            self._lanes.slots.move(error.slot_id, to)
            self._lanes.send(waiting)
        else:
            self._lanes.follow(self._lanes._lane(to).ask(waiting))

    async def ask(self, waiting: Waiting) -> None:
        """One call for a slot that is on its way here."""
        try:
            async with time_limit(self._limit_s):
                call = self.clock.timed(waiting.call())
                [reply] = await self._round_trip([call.by_sha()], [call.parts], asking=True)
                if isinstance(reply, NoScriptError):
                    [reply] = await self._round_trip([call.in_full()], [call.parts], asking=True)
        except Exception as error:
            reply = error
        self._settle([waiting], [reply])


def _is_trouble(reply: Any) -> bool:
    """Whether this is an answer, or none, that concerns all who ask this server."""
    if not isinstance(reply, Exception) or isinstance(reply, AskError | TryAgainError):
        return False
    return faults.of(reply).concerns is faults.Concerns.SERVER


@contextmanager
def as_redis_errors() -> Iterator[None]:
    """A cluster that cannot be used is a ConnectionError; redis-py's own exception for it is no RedisError."""
    try:
        yield
    except (RedisClusterException, AttributeError) as error:  # AttributeError: sent on to a node it has not heard of
        raise RedisConnectionError(f"{type(error).__name__}: {error}") from error
