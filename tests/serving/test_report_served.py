"""The report of real servers says what their clients counted, with a worker that ends and a Redis that is away meanwhile."""

import os
import random
import signal
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import pytest
from django.test import override_settings
from django.utils import timezone

from ratewindow.counting.collecting import collect_stats
from ratewindow.report.offenders import Offenders, offenders
from ratewindow.report.report import Report, last, waiting
from tests.serving.servers import Place, Served, exchange, new_address

pytestmark = [pytest.mark.slow, pytest.mark.django_db]

REQUESTS = 1000
CLIENTS = 40  # fewer than are kept of those refused in a minute, so that each of these counts is exact
AWAY_MS = 5000


class Asked(NamedTuple):
    """A request as its client saw it, with the minutes in which it began and ended."""

    path: str
    client: str
    status: int
    began: int
    ended: int


def asked(served: Served, requests: list[tuple[str, str]]) -> Counter[Asked]:
    """Ask for each path as each client, by several connections; how often each was seen."""

    def ask(part: list[tuple[str, str]]) -> list[Asked]:
        found = []
        connection = served.connection(60)
        for path, client in part:
            began = this_minute()
            try:
                status = exchange(connection, "GET", path, client).status
            except OSError:  # a worker that ended has closed the connection before it read the request
                connection.close()
                connection = served.connection(60)
                status = exchange(connection, "GET", path, client).status
            found.append(Asked(path, client, status, began, this_minute()))
        connection.close()
        return found

    with ThreadPoolExecutor(8) as threads:
        return Counter(each for part in threads.map(ask, [requests[start::8] for start in range(8)]) for each in part)


def this_minute() -> int:
    return int(time.time() // 60)


def read(rule: str) -> tuple[Report, Offenders]:
    period = last("1h", timezone.now())
    return Report(period, waiting(), rule), offenders(period, rule, waiting(), most=CLIENTS)


@pytest.mark.parametrize("kind", ["sync", "uvicorn"])
def test_sums_and_top_clients_are_those_that_the_clients_counted(kind: str, served_place: Place) -> None:
    random_ = random.Random(7)
    addresses = [new_address() for _ in range(CLIENTS)]
    weights = [number + 1 for number in range(CLIENTS)]
    requests = [
        (random_.choice(["/pipelined/", "/silent/"]), client) for client in random_.choices(addresses, weights, k=REQUESTS)
    ]
    served = served_place.serve(kind, TIMEOUT="300ms")
    counted = asked(served, requests[: REQUESTS // 3])
    os.kill(ended := min(served.workers()), signal.SIGTERM)
    counted += asked(served, requests[REQUESTS // 3 : REQUESTS // 2])
    served.wait_for_workers_beside({ended})  # the last counts of a worker that ends while Redis is away are lost
    served_place.redis.execute_command("CLIENT", "PAUSE", AWAY_MS, "ALL")
    counted += asked(served, requests[REQUESTS // 2 :])
    served_place.redis.ping()  # answered once Redis is back: what a server counts after its end is lost
    served.end()
    assert "could not be sent" not in served.said()
    with override_settings(RATEWINDOW={"REDIS": served_place.redis_url}):
        for collected in (False, True):
            if collected:
                collect_stats()
            found, who = read("pipelined")
            met, refused = by_client(counted, "/pipelined/")
            assert (found.total.passed, found.total.refused) == (met.total() - refused.total(), refused.total())
            assert_minutes(found, counted, "/pipelined/")
            assert {name.value: name.refused for name in who.clients} == +refused
            found, who = read("silent")
            met, _ = by_client(counted, "/silent/")
            assert (found.total.passed, found.total.refused) == (met.total(), 0)
            assert_minutes(found, counted, "/silent/")
            assert 0 < found.total.would_refuse == sum(name.would_refuse for name in who.clients)


def by_client(counted: Counter[Asked], path: str) -> tuple[Counter[str], Counter[str]]:
    """How many requests of each client were answered, and how many of these refused."""
    met, refused = Counter[str](), Counter[str]()
    for each, times in counted.items():
        if each.path == path:
            assert each.status in (200, 429)
            met[f"ip:{each.client}"] += times
            refused[f"ip:{each.client}"] += times if each.status == 429 else 0
    return met, refused


def assert_minutes(found: Report, counted: Counter[Asked], path: str) -> None:
    """Each minute has the requests that began and ended in it, and of those that ended in another one some."""
    for outcome, status in (("passed", 200), ("refused", 429)):
        within, around = Counter[int](), Counter[int]()
        for each, times in counted.items():
            if (each.path, each.status) == (path, status):
                for minute in {each.began, each.ended}:
                    around[minute] += times
                    within[minute] += times if each.began == each.ended else 0
        for start, sums in found.steps.items():
            minute = int(start.timestamp() // 60)
            assert within[minute] <= getattr(sums, outcome) <= around[minute], start
