"""Totals that monitors scrape are those that the clients counted: four processes, restarts, and rows deleted between scrapes."""

import os
import signal
import time
from collections import Counter

import pytest
from django.test import override_settings
from prometheus_client.parser import text_string_to_metric_families

from ratewindow.contrib.metrics import views
from ratewindow.counting.collecting import collect_stats
from tests.serving.servers import Place, Served, new_address, until

pytestmark = [pytest.mark.slow, pytest.mark.django_db]

REQUESTS = 120  # before, between and after
YEARS_S = 3 * 366 * 86_400


def totals(text: str) -> Counter[str]:
    """What the rule ``pipelined`` did, by name."""
    found = Counter[str]()
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if family.type == "counter" and sample.labels == {"rule": "pipelined"}:
                found[sample.name] = int(sample.value)
    return found


class Monitor:
    """Scrapes, and fails as soon as a total falls."""

    def __init__(self) -> None:
        self.last = Counter[str]()

    def scrape(self, text: str) -> None:
        now = totals(text)
        assert all(now[name] >= count for name, count in self.last.items()), (self.last, now)
        self.last = now


def test_totals_are_those_that_the_clients_counted_and_never_fall(served_place: Place) -> None:
    monitor, counted, clients = Monitor(), Counter[int](), [new_address() for _ in range(10)]

    def ask(served: Served) -> None:
        for number in range(REQUESTS):
            counted[served.get("/pipelined/", clients[number % len(clients)]).status] += 1
            if number % 20 == 0:
                monitor.scrape(served.get("/metrics/").body.decode())

    def delete_rows() -> None:
        with override_settings(RATEWINDOW={"REDIS": served_place.redis_url}):
            # A process sends what it counted once a second, and all these requests may take less.
            until(lambda: "rows set: 0" not in collect_stats(), "no process sent what it had counted")
            assert "old rows deleted: 0" not in collect_stats(time.time() + YEARS_S)

    served = served_place.serve("preload")
    assert len(served.workers()) == 4
    ask(served)
    delete_rows()
    os.kill(min(served.workers()), signal.SIGTERM)
    ask(served)
    served.end()
    served = served_place.serve("preload")
    ask(served)
    delete_rows()
    monitor.scrape(served.get("/metrics/").body.decode())
    served.end()
    with override_settings(RATEWINDOW={"REDIS": served_place.redis_url}):
        monitor.scrape(views.text())
    assert set(counted) == {200, 429}
    assert monitor.last["ratewindow_hits_total"] == counted.total() == 3 * REQUESTS
    assert monitor.last["ratewindow_within_limit_total"] == counted[200]
    assert monitor.last["ratewindow_over_limit_total"] == counted[429]
