"""What a client takes in the server's memory, weighed as the tests weigh it."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import redis

from benchmarks.copies import copy
from benchmarks.site import requests, view
from benchmarks.tables import AMOUNTS, Amount, Section
from ratewindow import ratelimit
from ratewindow.limiter import Limiter, RedisStore, Window
from ratewindow.store import process_clients
from tests.support.footprint import busy, bytes_each

HOUR_MS = 3_600_000
SMALL, LARGE = (1, 1, 2), (1, 1, 10**6)
MOST_NAME = 70


class Case(NamedTuple):
    window: Window
    traffic: str
    costs: Sequence[int]
    at_most: float
    calls: int = 120  # two periods, so every bucket of 60 is in use
    clients: int = 5000
    events: int = 1  # so many to a client, if it is weighed by event


CASES = (
    Case(Window(60, HOUR_MS), "one request", (1,), 400, calls=1),
    Case(Window(60, HOUR_MS), "60 an hour", (1,), 400, calls=120),
    Case(Window(100, HOUR_MS), "100 an hour", (1,), 400, calls=200),
    Case(Window(10**9, HOUR_MS), "high limit, one request", (1,), 400, calls=1),
    Case(Window(10**9, HOUR_MS), "high limit, full, costs of 1 and 2", SMALL, 400),
    Case(Window(10**9, HOUR_MS), "high limit, full, costs of 1 and a million", LARGE, 400),
    *(
        Case(window, "full, costs of 1 and a million", LARGE, 120)
        for window in (
            Window(10**9, HOUR_MS, "sliding_estimate"),
            Window(10**9, HOUR_MS, "fixed_window"),
            Window(1000, HOUR_MS, "token_bucket", burst=10**9),  # drained, its state would be gone
            Window(1000, HOUR_MS, "leaky_bucket", burst=10**9),
        )
    ),
    *(
        Case(Window(each, HOUR_MS, "sliding_log"), f"{each:,} requests, each", (1,), 16, each, 200_000 // each, each // 2)
        for each in (100, 1000, 5000)
    ),
)


def measure() -> Section:
    client = process_clients.client()
    rows = [
        Amount(f"{case.window.algorithm}, {case.traffic}", (), case.at_most, _bytes(client, case) / case.events) for case in CASES
    ]
    rows.append(Amount("the longest name of a key", (), MOST_NAME, _longest_name(client)))
    return Section(
        "Memory",
        "What the server's `used_memory` grows by for each client, tables and expiries included, beyond the characters of the "
        "key's name.",
        rows,
        AMOUNTS,
        why="Why more: see the layout of each state at the head of its Lua file.",
    )


def _bytes(client: redis.Redis, case: Case) -> float:
    """One client comes as the traffic says; the others stand as it does."""

    def come() -> None:
        busy(client, case.window, case.costs, case.calls, clients=1)
        keys: Any = client.keys("rwl:*")
        (first,) = (key.decode() for key in keys)
        copy(client, first, first[:-12], case.clients)

    _empty(client)
    come()  # the scripts, the connections
    _empty(client)
    grown = bytes_each(client, come)
    _empty(client)
    return grown


def _empty(client: redis.Redis) -> None:
    client.execute_command("FLUSHDB", "SYNC")  # or memory is given back at some later time


def _longest_name(client: redis.Redis) -> int:
    """Of a rule and a client whose names are as long as can be, with a lock."""
    long = "header:x-api-key:" + "k" * 4000
    for _ in range(2):
        Limiter(RedisStore(client), prefix="p" * 16).hit(long, [Window(1, HOUR_MS)], penalty_ms=HOUR_MS)
    limited = ratelimit("r" * 64, "1/h", key="header:x-api-key")(view)
    for request in requests()(1):
        request.META["HTTP_X_API_KEY"] = long
        limited(request)
    return max(map(len, client.keys("*")))
