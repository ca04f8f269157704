"""A cluster of three masters with a replica each behind a site under traffic: a master dies, and slots move."""

import time
from collections.abc import Sequence
from typing import NamedTuple

import redis
from redis.crc import key_slot

from ratewindow.store import state_keys
from tests.faults.traffic import Sample, Traffic
from tests.serving.servers import Served
from tests.support.servers import SLOTS, Cluster, until

PATH, CLIENTS = "/each/", 12


class Met(NamedTuple):
    """What requests met meanwhile."""

    requests: int
    failed: int
    alone: int  # decided without the store
    worst_ms: float
    alone_s: float  # from what happened to the last of them

    @classmethod
    def of(cls, samples: Sequence[Sample], began_s: float) -> "Met":
        alone = [each.sent_s for each in samples if each.cause]
        failed = sum(each.status != 200 for each in samples)
        worst_ms = max((each.gate_ms - each.queued_ms for each in samples), default=0.0)  # but for waiting for a processor
        return cls(len(samples), failed, len(alone), worst_ms, max(alone, default=began_s) - began_s)


def home(cluster: Cluster, client: str) -> int:
    """The port of the master that counts this client of `PATH`, as slots were at first."""
    slot = key_slot(state_keys.client_tag(f"header:x-client:{client}").encode())  # the served site has our SECRET_KEY
    return next(port for number, port in enumerate(cluster.masters, 1) if slot < SLOTS * number // 3)


def copied(port: int) -> None:
    """Wait until the replica of this master has all that it has."""
    with redis.Redis(port=port) as master:
        offset = master.info("replication")["master_repl_offset"]

        def is_there() -> bool:
            return any(each["offset"] >= offset for name, each in master.info("replication").items() if name.startswith("slave"))

        until(is_there, "the replica did not copy what its master has")


def kill_a_master(cluster: Cluster, served: Served, answers_after: int = 40) -> tuple[Met, Met]:
    """What clients of the other masters met until the replica of the killed one had taken over; and what its own met."""
    lost = cluster.masters[0]
    with Traffic(served, (PATH,), clients=CLIENTS) as traffic:
        traffic.wait_for(60)
        began_s = time.monotonic()
        cluster.kill(lost)

        def own() -> list[Sample]:
            return [each for each in traffic.since(began_s) if home(cluster, each.client) == lost]

        traffic.until(lambda: any(each.cause for each in own()), "nobody noticed that a master is away")
        traffic.until(lambda: not any(each.cause for each in own()[-answers_after:]), "no replica took over, or nobody noticed")
    others = [each for each in traffic.since(began_s) if home(cluster, each.client) != lost]
    return Met.of(others, began_s), Met.of(own(), began_s)


def move_slots(cluster: Cluster, served: Served) -> tuple[Met, int]:
    """What clients met while every slot of one master that has keys went to another; and how many slots did."""
    _, source_port, target_port = cluster.masters
    with redis.Redis(port=source_port) as source, redis.Redis(port=target_port) as target:
        ids = {each: each.execute_command("CLUSTER MYID").decode() for each in (source, target)}
        with Traffic(served, (PATH,), clients=CLIENTS) as traffic:
            traffic.wait_for(60)
            began_s = time.monotonic()
            slots = sorted({key_slot(key) for key in source.scan_iter(count=1000)})
            for slot in slots:
                target.execute_command("CLUSTER SETSLOT", slot, "IMPORTING", ids[source])
                source.execute_command("CLUSTER SETSLOT", slot, "MIGRATING", ids[target])
                traffic.wait_for(10)  # some of them for keys that are still here, some for others
                while keys := source.execute_command("CLUSTER GETKEYSINSLOT", slot, 100):
                    source.execute_command("MIGRATE", "127.0.0.1", target_port, "", 0, 5000, "KEYS", *keys)
                traffic.wait_for(10)
                for each in (target, source):
                    each.execute_command("CLUSTER SETSLOT", slot, "NODE", ids[target])
            traffic.wait_for(30)
    return Met.of(traffic.since(began_s), began_s), len(slots)
