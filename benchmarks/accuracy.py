"""How right each algorithm is about bursty traffic: who was refused too early, and who should not have passed.

Run ``python -m benchmarks.accuracy``. Each request is judged beside an exact count of what this same limiter
has admitted in the period before it: refused though there was room is *early*, admitted though there was none
is *over*. The traffic is drawn from a fixed seed, so the table is the same on every machine.
"""

import random
from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

from ratewindow.limiter import Limiter, MemoryStore, Window

LIMIT, PERIOD_MS = 100, 60_000
REQUESTS = 200_000
BURST, QUIET_MS, GAP_MS = 40, 24_000, 20  # bursts of 40 requests, 20 ms apart, after 24 s: about the limit

WINDOWS = {
    "sliding_log": Window(LIMIT, PERIOD_MS, "sliding_log"),
    "sliding_window": Window(LIMIT, PERIOD_MS),
    "sliding_window, 1000 per 60 s, 10 buckets": Window(10 * LIMIT, PERIOD_MS, buckets=10),
    "sliding_window, 1000 per 60 s, 60 buckets": Window(10 * LIMIT, PERIOD_MS),
    "sliding_window, 1000 per 60 s, 300 buckets": Window(10 * LIMIT, PERIOD_MS, buckets=300),
    "sliding_estimate": Window(LIMIT, PERIOD_MS, "sliding_estimate"),
    "fixed_window": Window(LIMIT, PERIOD_MS, "fixed_window"),
    "fixed_window, aligned": Window(LIMIT, PERIOD_MS, "fixed_window", aligned_to="minute"),
    "token_bucket": Window(LIMIT, PERIOD_MS, "token_bucket"),
    "leaky_bucket": Window(LIMIT, PERIOD_MS, "leaky_bucket"),
}


class Accuracy(NamedTuple):
    """Shares of all requests, and the most that were admitted in any window."""

    early: float
    over: float
    most: int


def bursty(times: int = 1, seed: int = 1, requests: int = REQUESTS) -> Iterator[int]:
    """When requests come, in milliseconds: bursts of exponential size, at exponential distances; so many times as many."""
    dice, now_ms, left = random.Random(seed), 1_732_094_855_123, 0
    for _ in range(requests):
        if not left:
            left = 1 + int(dice.expovariate(1 / BURST / times))
            now_ms += int(dice.expovariate(1 / QUIET_MS))
        left -= 1
        now_ms += int(dice.expovariate(times / GAP_MS))
        yield now_ms


def accuracy(window: Window, times: Iterator[int]) -> Accuracy:
    now_ms, admitted, early, over, most, asked = 0, [0], 0, 0, 0, 0
    limiter = Limiter(MemoryStore(), clock_ms=lambda: now_ms)
    for now_ms in times:
        asked += 1
        before = len(admitted) - bisect_right(admitted, now_ms - window.period_ms)
        if limiter.hit("somebody", [window]):
            admitted.append(now_ms)
            over += before >= window.limit
            most = max(most, before + 1)
        else:
            early += before < window.limit
    return Accuracy(early / asked, over / asked, most)


def main() -> None:
    print(f"{REQUESTS:,} requests of one client at {LIMIT} per {PERIOD_MS // 1000} s, in bursts, on average about the limit\n")
    print("| algorithm | refused early | admitted over the limit | most in any window |")
    print("|---|---|---|---|")
    for name, window in WINDOWS.items():
        told = accuracy(window, bursty(window.limit // LIMIT))
        print(f"| {name} | {told.early:.1%} | {told.over:.1%} | {told.most} |")


if __name__ == "__main__":
    main()
