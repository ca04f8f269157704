"""One key that everybody shares: what it costs the one server that has it, counted one by one and by leases."""

from benchmarks import cpu
from benchmarks.site import requests, view
from benchmarks.tables import TIMES, Section, Timed
from benchmarks.timing import Contestant, side_by_side
from ratewindow.middleware import RateWindowMiddleware
from ratewindow.models import RateRule
from ratewindow.store import process_clients

LEASES = (1, 10, 100)
RATE = "100000000/m"
CALLS = 20_000


def measure() -> Section:
    client = process_clients.client()
    title = "Hot keys"
    if not cpu.told(client):
        return Section(title, cpu.UNTOLD)
    contestants = {}
    for lease in LEASES:
        path = f"/hot/{lease}/"
        RateRule.objects.define(f"bench.hot.{lease}", RATE, path=path, key="global", lease=lease, mode="enforce")
        contestants[_name(lease)] = Contestant(RateWindowMiddleware(view), requests(path))
    shares = {name: _share(contestant) for name, contestant in contestants.items()}
    times = side_by_side(contestants, calls=1000)
    return Section(
        title,
        f"One rule of {RATE} for everybody together, through the middleware. How many calls reach the server, what main thread's "
        "CPU they take there, and so how many requests a second one server could count for this key, however many machines "
        "ask: on a Cluster a key lies on one server, too.",
        [Timed(name, shares[name], None, times[name], times[_name(1)]) for name in contestants],
        columns=(*TIMES, "calls of 1,000 requests", "server CPU, µs a request", "requests a second at most"),
    )


def _name(lease: int) -> str:
    return f"lease {lease}" if lease > 1 else "counted one by one"


def _share(contestant: Contestant) -> tuple[str, str, str]:
    client = process_clients.client()
    inputs = list(contestant.prepare(CALLS))
    calls, busy_s = client.info("commandstats").get("cmdstat_evalsha", {"calls": 0})["calls"], cpu.main_thread_s(client)
    for each in inputs:
        contestant.call(each)
    busy_us = (cpu.main_thread_s(client) - busy_s) / CALLS * 1e6
    calls = client.info("commandstats")["cmdstat_evalsha"]["calls"] - calls
    return f"{calls * 1000 / CALLS:,.0f}", f"{busy_us:.2f}", f"{1e6 / busy_us:,.0f}"
