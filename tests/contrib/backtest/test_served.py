"""What a backtest would refuse is what a running site refuses when the same log is sent to it, line by line."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

from ratewindow.contrib.backtest.logs.entry import Entry
from ratewindow.contrib.backtest.requests import Addresses, Moments
from ratewindow.contrib.backtest.run import backtest, of_rates
from tests.contrib.backtest.support.logged import Heard, Logged, nasa
from tests.serving.servers import CHECKOUT, Place, Served, needs_a_server, place
from tests.support.server_clock import ServerClock, server_clock

LINES = 500
RATES = "3/20s; 12/h"
DAY_S = 86_400
DEFINE = "import django; django.setup(); from ratewindow.models import RateRule; RateRule.objects.define(*{}, **{})"
TIME_US = "local time = redis.call('TIME') return time[1] * 1000000 + time[2]"


class HeldSite:
    """A site under gunicorn, whose Redis has a clock of the test's, by which it also believes what was refused."""

    def __init__(self, made: Place, clock: ServerClock, file: str) -> None:
        self._clock, self._redis = clock, made.redis
        defined = DEFINE.format(("replayed", RATES), {"prefix": "/", "mode": "enforce"})
        subprocess.run([sys.executable, "-c", defined], cwd=CHECKOUT, env=made.environment(), check=True)
        self.served: Served = made.serve("sync", {"SERVED_CLOCK": file})

    def hold(self, now_ms: int) -> None:
        self._clock.hold(now_ms * 1000)
        assert self._redis.eval(TIME_US, 0) == now_ms * 1000

    def refuses(self, entry: Entry, client: str) -> bool:
        return self.served.ask(entry.method, entry.target, client).status == 429


@pytest.fixture
def held_site(site_database: Path) -> Iterator[HeldSite]:
    needs_a_server()
    with pytest.MonkeyPatch.context() as environment, server_clock(environment) as clock, place(site_database) as made:
        file = os.environ["SERVER_CLOCK"]
        environment.undo()  # only the Redis, which has inherited it
        yield HeldSite(made, clock, file)


def log() -> list[Entry]:
    """The log as of today."""
    entries = list(islice(nasa(), LINES))
    later_s = (time.time() - entries[0].at_s) // DAY_S * DAY_S
    return [entry._replace(at_s=entry.at_s + later_s) for entry in entries]


def test_a_site_under_gunicorn_refuses_what_its_backtest_refuses(held_site: HeldSite, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the beginning of each second, and spread over it: a day later, when nothing counts any more."""
    entries, addresses = log(), Addresses()
    heard = Heard(monkeypatch, entries)
    backtest(Logged(entries), of_rates(RATES, prefix="/"))
    moments = [*Moments(entries)]
    for course in (0, 1):
        sent = []
        for entry, times_ms in moments:
            held_site.hold(times_ms[course] + course * DAY_S * 1000)
            sent.append(held_site.refuses(entry, addresses.of(entry.client)))
        assert sent == heard[course]
        assert LINES // 20 < sum(sent) < LINES // 2
    assert held_site.served.complaints() == []
