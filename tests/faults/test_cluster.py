"""A cluster that loses a master: who has nothing to do with it notices nothing, and the others soon neither."""

import asyncio
from collections.abc import Iterator

import pytest
import redis
from redis.crc import key_slot

from ratewindow.store import outage, stores
from ratewindow.store.breaker import FAILURES_TO_OPEN
from tests.faults.site import LIMIT, Answer, Touched, Visitor, probe, site_on
from tests.support.servers import Cluster, cluster_with_replicas, until

pytestmark = pytest.mark.slow


@pytest.fixture
def cluster_of_six() -> Iterator[Cluster]:
    with cluster_with_replicas() as cluster:
        yield cluster


def _back(visitor: Visitor, client: str) -> bool:
    probe()
    return not any(state.open for state in stores.shards.states) and visitor.ask(client=client)[0].cause == ""


def test_a_master_that_is_killed_concerns_its_own_clients_until_its_replica_takes_over(
    cluster_of_six: Cluster, visitor: Visitor, touched: Touched, caplog: pytest.LogCaptureFixture
) -> None:
    with site_on(cluster_of_six.url, "1s"):
        clients = _clients_by_asking(cluster_of_six, visitor)
        lost, *others = cluster_of_six.masters
        replicated = redis.Redis(port=lost)
        replicated.execute_command("WAIT", 1, 5000)
        replicated.close()
        caplog.clear()
        cluster_of_six.kill(lost)
        causes = [visitor.ask(client=clients[lost])[0].cause for _ in range(FAILURES_TO_OPEN)]
        assert causes == ["store:connection"] * FAILURES_TO_OPEN
        with touched() as calls:
            assert visitor.ask(3, client=clients[lost]) == [Answer(200, "store:connection")] * 3
        assert calls == [] or visitor.is_async  # on asyncio the map of the slots is asked for meanwhile, beside the requests
        for port in others:
            assert visitor.ask(2, client=clients[port]) == [Answer(200, "")] * 2
        assert not outage.breaker.open
        assert [state.open for state in stores.shards.states if state.server == f"127.0.0.1:{lost}"] == [True]
        until(lambda: _back(visitor, clients[lost]), "nobody took over, or nobody noticed")
        assert [record.levelname for record in caplog.records if record.name == "ratewindow"] == ["ERROR", "WARNING"]
        for port in others:
            assert visitor.admitted(clients[port]) == LIMIT - 3
        # The replica had the count, and the one request that found it.
        assert visitor.admitted(clients[lost]) == LIMIT - 2


def _clients_by_asking(cluster: Cluster, visitor: Visitor) -> dict[int, str]:
    """For each master a client whose count it has, which has asked once."""
    found: dict[int, str] = {}
    servers = {port: redis.Redis(port=port) for port in cluster.masters}
    for number in range(200):
        before = {port: _count_states(server) for port, server in servers.items()}
        (answer,) = visitor.ask(client=f"client{number}")
        assert answer == Answer(200, "")
        (home,) = [port for port, server in servers.items() if _count_states(server) > before[port]]
        found.setdefault(home, f"client{number}")
        if len(found) == len(servers):
            break
    for server in servers.values():
        server.close()
    return found


def _count_states(server: redis.Redis) -> int:
    return sum(1 for _ in server.scan_iter("rw:s:*"))  # not all keys: counts for the report are sent meanwhile


def test_slots_that_move_under_traffic_make_no_error(cluster_of_six: Cluster, visitor: Visitor) -> None:
    """Every slot of one master goes to another, key by key, while clients ask."""
    with site_on(cluster_of_six.url, "5s"):
        names = [f"client{number}" for number in range(30)]
        for name in names:
            assert visitor.ask(client=name) == [Answer(200, "")]
        source, target, _ = (redis.Redis(port=port) for port in cluster_of_six.masters)
        ids = {each: each.execute_command("CLUSTER MYID").decode() for each in (source, target)}
        keys = list(source.keys("*"))
        assert keys
        for key in keys:
            slot = key_slot(key)
            target.execute_command("CLUSTER SETSLOT", slot, "IMPORTING", ids[source])
            source.execute_command("CLUSTER SETSLOT", slot, "MIGRATING", ids[target])
            assert {answer for name in names[:10] for answer in visitor.ask(client=name)} == {Answer(200, "")}
            port = cluster_of_six.masters[1]
            source.execute_command(
                "MIGRATE", "127.0.0.1", port, "", 0, 5000, "KEYS", *source.execute_command("CLUSTER GETKEYSINSLOT", slot, 100)
            )
            assert {answer for name in names[10:20] for answer in visitor.ask(client=name)} == {Answer(200, "")}
            for each in (target, source):
                each.execute_command("CLUSTER SETSLOT", slot, "NODE", ids[target])
            if len(keys) > 3 and key == keys[2]:
                break
        assert {answer for name in names[20:] for answer in visitor.ask(client=name)} == {Answer(200, "")}
        assert visitor.admitted(names[-1]) == LIMIT - 2
        source.close()
        target.close()


async def test_a_cluster_that_is_away_when_a_loop_begins_is_found_when_it_is_there(cluster_ports: list[int]) -> None:
    from redis.asyncio.cluster import ClusterNode, RedisCluster

    from ratewindow.limiter import AsyncClusterStore, Window
    from ratewindow.limiter.types import Check

    check = Check("away", (Window(5, 60_000),), ("rw:{away}",))
    client = RedisCluster(startup_nodes=[ClusterNode("127.0.0.1", 1)], socket_timeout=1, socket_connect_timeout=1)
    store = AsyncClusterStore(client, 1.0)
    with pytest.raises(redis.ConnectionError):
        await store.run([check], "hit")
    client.nodes_manager.startup_nodes = {"there": ClusterNode("127.0.0.1", cluster_ports[0], **client.connection_kwargs)}
    store._lanes._renewed_s = float("-inf")  # some time has passed
    assert (await store.run([check], "hit"))[0].windows[0].remaining == 4
    await store.reset(check.keys)
    await client.aclose()


def test_a_loop_that_ends_closes_its_connections_to_every_server(cluster_ports: list[int], cluster: redis.RedisCluster) -> None:
    with site_on(f"redis+cluster://127.0.0.1:{cluster_ports[0]}", "5s"), asyncio.Runner() as runner:
        assert Visitor(True, runner).ask(3) == [Answer(200, "")] * 3
