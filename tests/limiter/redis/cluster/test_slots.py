"""Which server of a cluster has a key, and what happens to a request that needs one which is known to be away."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
import redis
import redis.asyncio
from redis.crc import key_slot
from redis.exceptions import MovedError

from ratewindow.limiter import AsyncClusterStore, ClusterStore, Window
from ratewindow.limiter.redis.cluster.pipelines import Slots, name_of
from ratewindow.limiter.redis.faults import ServerAway, Watch
from ratewindow.limiter.types import Check

ONE, TWO, THREE = ("one", 7000), ("two", 7000), ("three", 7000)


class Client:
    """A cluster of two servers, each with half of the slots."""

    def __init__(self) -> None:
        one, two = (SimpleNamespace(host=host, port=port) for host, port in (ONE, TWO))
        self.nodes_manager = SimpleNamespace(
            slots_cache={slot: [one if slot < 8192 else two] for slot in range(16384)},
            remap_host_port=lambda host, port: (host, port),
        )


def test_a_key_is_where_the_map_says_until_a_server_has_sent_us_on_and_the_map_is_renewed() -> None:
    slots = Slots(Client())
    slot = key_slot(b"{a}")
    home, other = (ONE, TWO) if slot < 8192 else (TWO, ONE)
    assert slots.home("{a}") == home
    slots.move(slot, slots.redirected_to(MovedError(f"{slot} {other[0]}:{other[1]}"), home))
    assert slots.home("{a}") == other
    slots.renewed()
    assert slots.home("{a}") == home


def test_a_server_that_does_not_say_its_own_host_means_the_one_that_was_asked() -> None:
    assert Slots(Client()).redirected_to(MovedError("1 :7001"), ONE) == ("one", 7001)


def test_a_slot_that_nobody_is_known_to_have_is_a_connection_error() -> None:
    client = Client()
    client.nodes_manager.slots_cache.clear()
    with pytest.raises(redis.ConnectionError, match="no server of the cluster is known"):
        Slots(client).home("{a}")


def test_a_probe_has_a_key_at_each_server_that_has_slots_and_none_elsewhere() -> None:
    slots = Slots(Client())
    for address in (ONE, TWO):
        key = slots.key_at(address, "rw:s:probe")
        assert key is not None and key.startswith("rw:s:probe:{")
        assert slots.home(key) == address
    assert slots.key_at(THREE, "rw:s:probe") is None
    slots.move(5, THREE)
    moved = slots.key_at(THREE, "rw:s:probe")
    assert moved is not None and key_slot(moved.encode()) == 5


class Watching(Watch):
    """Says that one server is away, and notes whom it is told of."""

    def __init__(self) -> None:
        self.gone = ""
        self.asked: list[str] = []

    def away(self, server: str) -> str | None:
        return "timeout" if server == self.gone else None

    def succeeded(self, server: str) -> None:
        self.asked.append(server)


def on_two_servers(cluster: redis.RedisCluster) -> tuple[list[Check], list[str]]:
    """Checks of two clients, whose counts two servers have; and the servers' names."""
    by_home: dict[str, Check] = {}
    for number in range(100):
        check = Check(f"rule{number}", (Window(5, 3_600_000),), (f"away:{{{number}}}",))
        node: Any = cluster.get_node_from_key(check.keys[0])
        by_home.setdefault(name_of((node.host, node.port)), check)
    homes = list(by_home)[:2]
    return [by_home[home] for home in homes], homes


def test_a_request_that_needs_a_server_which_is_away_asks_none(cluster: redis.RedisCluster) -> None:
    watch = Watching()
    store = ClusterStore(cluster, 5.0, watch)
    checks, homes = on_two_servers(cluster)
    store.run(checks, "hit")
    assert set(watch.asked) == set(homes)
    watch.asked, watch.gone = [], homes[1]
    with pytest.raises(ServerAway) as told:
        store.run(checks, "hit")
    assert (told.value.server, told.value.fault) == (homes[1], "timeout")
    assert watch.asked == []
    assert store.run(checks[:1], "hit")[0].windows[0].remaining == 3


async def test_and_so_it_is_on_asyncio(cluster: redis.RedisCluster, cluster_ports: list[int]) -> None:
    watch = Watching()
    client = redis.asyncio.RedisCluster(host="127.0.0.1", port=cluster_ports[0])
    store = AsyncClusterStore(client, 5.0, watch)
    checks, homes = on_two_servers(cluster)
    await store.run(checks, "hit")
    watch.asked, watch.gone = [], homes[1]
    with pytest.raises(ServerAway):
        await store.run(checks, "hit")
    assert watch.asked == []
    assert (await store.run(checks[:1], "hit"))[0].windows[0].remaining == 3
    watch.gone = ""
    assert (await store.run(checks, "hit"))[0].windows[0].remaining == 2
    await asyncio.gather(*(asyncio.all_tasks() - {asyncio.current_task()}))
    await client.aclose()


async def test_rounds_that_take_too_long_together_are_no_fault_of_a_single_server(
    cluster: redis.RedisCluster, cluster_ports: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    watch = Watching()
    client = redis.asyncio.RedisCluster(host="127.0.0.1", port=cluster_ports[0])
    store = AsyncClusterStore(client, 0.05, watch)
    monkeypatch.setattr(store._lanes, "call", lambda call: asyncio.get_running_loop().create_future())
    checks, _ = on_two_servers(cluster)
    with pytest.raises(ServerAway, match="several servers together") as told:
        await store.run(checks, "hit")
    assert told.value.fault == "timeout"
    await client.aclose()


def test_the_keys_of_one_call_are_in_one_slot_whatever_is_asked(cluster: redis.RedisCluster) -> None:
    """So no server ever answers CROSSSLOT: penalties, several windows, refunds and resets too."""
    store = ClusterStore(cluster, 5.0)
    windows = (Window(5, 3_600_000), Window(9, 60_000, "token_bucket"))
    checks = [
        Check(
            f"rule{number}",
            windows,
            (f"cross:{{{number}}}:a", f"cross:{{{number}}}:b"),
            1,
            True,
            False,
            1000,
            f"cross:{{{number}}}:c",
        )
        for number in range(20)
    ]
    assert len(store.run(checks, "hit")) == 20
    store.refund([(check, [None, None]) for check in checks])
    store.reset([key for check in checks for key in check.keys])
