"""A bursty history, and what is right for it: an exact log's verdicts, and the most within any period."""

import random
from bisect import bisect_right
from collections.abc import Sequence

START_MS = 1_732_094_820_000  # the start of a minute
MINUTES = 60


def bursty(limit: int, period_ms: int) -> list[int]:
    """Times of requests: bursts of up to one and a half limits within moments or seconds, and single ones between."""
    dice = random.Random(7)
    times: list[int] = []
    at_ms = START_MS
    while at_ms < START_MS + MINUTES * period_ms:
        lasts_ms = dice.choice((100, 2000, period_ms // 6))
        times += [at_ms + dice.randrange(lasts_ms) for _ in range(dice.randrange(limit // 10, limit * 3 // 2))]
        pause_ms = int(dice.expovariate(1 / period_ms))
        times += [at_ms + dice.randrange(pause_ms + 1) for _ in range(pause_ms * limit // period_ms // 4)]
        at_ms += pause_ms
    return sorted(times)


def worst_window(admitted_ms: Sequence[int], period_ms: int) -> int:
    """The most that were admitted within any period."""
    return max(number + 1 - bisect_right(admitted_ms, time - period_ms) for number, time in enumerate(admitted_ms))


def exact(times_ms: Sequence[int], limit: int, period_ms: int) -> list[bool]:
    """What an exact log answers each of these requests."""
    admitted: list[int] = []
    verdicts = []
    for time in times_ms:
        verdicts.append(len(admitted) < limit or admitted[-limit] <= time - period_ms)
        if verdicts[-1]:
            admitted.append(time)
    return verdicts
