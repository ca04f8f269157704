"""What a decision costs the server: the main thread's CPU time, which is what all clients share."""

import time

import redis

from benchmarks import cpu
from benchmarks.commands import hit, send, teach
from benchmarks.pipelined import RANDOM, driver
from benchmarks.tables import Section, Timed
from benchmarks.timing import in_turns
from ratewindow.limiter.types import Window
from ratewindow.store import process_clients

AT_MOST = 6.0
CALLS = 20_000
ROUNDS = 5
MINUTE_MS = 60_000
NEW = "sliding_window, 5/m, 100,000 clients, mostly new"
KNOWN = "sliding_window, 1000/m, 1,000 clients"

# name: window, different clients, in how many buckets each has been before, whether the bar is about it
CASES = {
    NEW: (Window(5, MINUTE_MS), 100_000, 0, True),
    KNOWN: (Window(1000, MINUTE_MS), 1000, 0, True),
    "sliding_window, 1000/m, 1,000 clients, full": (Window(1000, MINUTE_MS), 1000, 60, True),
    "sliding_window, one client": (Window(10**6, MINUTE_MS), 1, 0, True),
    "sliding_window, 5/m, 4,000 clients": (Window(5, MINUTE_MS), 4000, 0, True),
    "sliding_window, 60/m, 1,000 clients": (Window(60, MINUTE_MS), 1000, 0, True),
    "sliding_window, 60/m, 1,000 clients, half full": (Window(60, MINUTE_MS), 1000, 30, True),
    "sliding_window, 5/m, one client, refused": (Window(5, MINUTE_MS), 1, 0, True),
    "sliding_window, 60/m, 100 clients, full, refused": (Window(60, MINUTE_MS), 100, 60, True),
    **{
        f"{name}, 1000/m, 1,000 clients": (Window(1000, MINUTE_MS, name), 1000, 0, False)
        for name in ("sliding_log", "sliding_estimate", "fixed_window", "token_bucket", "leaky_bucket")
    },
}


def measure() -> Section:
    client = process_clients.client()
    title = "Server CPU of a decision"
    if not cpu.told(client):
        return Section(title, cpu.UNTOLD)
    measures = {cpu.FLOOR: cpu.floor(client, CALLS)}
    for number, (name, (window, keys, fill, _)) in enumerate(CASES.items()):
        key = f"bench{number}:{RANDOM}"
        teach(client, window)
        _fill(client, window, key, keys, fill)
        measures[name] = cpu.taken(client, hit(window, key), CALLS, keys)
    times = in_turns(measures, ROUNDS)
    promised = [name for name, (*_, is_promised) in CASES.items() if is_promised]
    return Section(
        title,
        f"CPU time of the server's main thread for one call of the shipped script with one window, by `INFO cpu` around "
        f"{CALLS:,} calls from {driver()}, 16 in a pipeline. The bar is about `sliding_window` with 60 buckets.",
        [Timed(name, (), AT_MOST if name in promised else None, times[name], times[cpu.FLOOR]) for name in times],
        why=(
            "Why more: `return 1` is a very low floor. A new client takes "
            f"{times[NEW].median_us - times[KNOWN].median_us:.1f} µs more than a known one."
        ),
    )


def _fill(client: redis.Redis, window: Window, key: str, keys: int, buckets: int) -> None:
    """Let every client have been there in each of the newest `buckets` seconds."""
    now_ms = int(time.time()) * 1000
    send(
        client,
        (
            hit(window, key.replace(RANDOM, f"{number:012}"), now_ms - (second - 1) * 1000)
            for second in range(buckets, 0, -1)
            for number in range(keys)
        ),
    )
