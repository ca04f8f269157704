"""Growth with the limit: what a decision costs the server when a client's limit, half used, is 10 or 100,000."""

from typing import Any

import redis

from benchmarks import cpu
from benchmarks.commands import hit, send, teach
from benchmarks.copies import copy
from benchmarks.pipelined import RANDOM
from benchmarks.plots import Picture, curves
from benchmarks.tables import Row, Section
from benchmarks.timing import in_turns
from ratewindow.limiter.types import Window
from ratewindow.store import process_clients

LIMITS = (10, 100, 1000, 10_000, 100_000)
CALLS = 4000
ROUNDS = 4
HOUR_MS = 3_600_000
ALGORITHMS = ("sliding_window", "sliding_log", "sliding_estimate", "fixed_window", "token_bucket")


def measure() -> Section:
    client = process_clients.client()
    title = "Growth with the limit"
    if not cpu.told(client):
        return Section(title, cpu.UNTOLD)
    measures = {cpu.FLOOR: cpu.floor(client, CALLS)}
    for limit in LIMITS:
        for name in ALGORITHMS:
            window, begins = Window(limit, HOUR_MS, name), f"{name}-{limit}:"
            _half_fill(client, window, begins)
            measures[f"{name} {limit}"] = cpu.taken(client, hit(window, begins + RANDOM), CALLS, _clients(limit))
    times = in_turns(measures, ROUNDS)
    client.flushdb()
    ratios = {name: [times[f"{name} {limit}"].ratio(times[cpu.FLOOR]) for limit in LIMITS] for name in ALGORITHMS}
    return Section(
        title,
        "Server CPU of a decision against `return 1`, by limit. Every client has used half of its limit, in up to fifty moments "
        "of the last hour, and is admitted.",
        [Row(name, tuple(f"{ratio:.1f} x" for ratio in ratios[name])) for name in ALGORITHMS],
        ("", *(f"{limit:,}" for limit in LIMITS)),
        picture=Picture(
            "growth-limit",
            "Cost of a decision by limit",
            curves({name: (LIMITS, each) for name, each in ratios.items()}, "limit", "server CPU, times return 1"),
        ),
        is_drawn=True,
    )


def _clients(limit: int) -> int:
    """So many that all rounds do not use up their other halves."""
    return max(1, 4 * (ROUNDS + 2) * CALLS // limit)


def _half_fill(client: redis.Redis, window: Window, begins: str) -> None:
    teach(client, window)
    seconds: Any = client.time()
    units = min(50, window.limit // 2)
    each = window.limit // 2 // units
    start_ms = seconds[0] * 1000 - HOUR_MS * 9 // 10
    first = f"{begins}{0:012}"
    send(client, (hit(window, first, start_ms + number * HOUR_MS * 9 // 10 // units, each) for number in range(units)))
    copy(client, first, begins, _clients(window.limit))
