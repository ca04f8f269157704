"""The cleaner on a Cluster under traffic; how long it holds up the servers with a million keys, `make orphans` measures."""

import json
from pathlib import Path

import pytest
import redis

from tests.faults import orphans
from tests.faults.ground import template
from tests.serving.servers import needs_a_server, place
from tests.support.servers import cluster_of_three

pytestmark = pytest.mark.slow
KEYS = 4_000


def test_exactly_the_orphans_go_from_all_masters_while_a_site_counts_on_them(tmp_path: Path) -> None:
    needs_a_server()
    with cluster_of_three() as ports, place(template(tmp_path)) as made:
        url = "redis+cluster://" + ",".join(f"127.0.0.1:{port}" for port in ports)
        masters = [redis.Redis(port=port, protocol=2) for port in ports]
        orphans.seed(masters, KEYS)
        assert sum(orphans.left(masters).values()) == KEYS
        served = made.serve("gthread", {"SERVED_TIMED": "1"}, REDIS=url)
        with orphans.traffic(served) as traffic:
            traffic.wait_for(20)
            orphans.clean(made, masters, json.dumps({"REDIS": url}), "--rate", "2500")
            traffic.wait_for(20)
        assert orphans.left(masters) == orphans.wanted(KEYS)
        assert orphans.lost(served, traffic.samples) == 0
        assert all(each.status == 200 for each in traffic.samples)
        for master in masters:
            commands = {name.removeprefix("cmdstat_") for name in master.info("commandstats")}
            assert {"scan", "unlink"} <= commands
            assert not commands & {"keys", "del", "flushdb"}
            master.close()
