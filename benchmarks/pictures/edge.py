"""What each algorithm does with a burst at the edge of a window, told by the real engine."""

from bisect import bisect_right
from dataclasses import dataclass

from ratewindow.limiter import Limiter, MemoryStore, Window

LIMIT, PERIOD_S, SECONDS = 100, 60, 180
START_MS = 1_732_094_880_000  # a full minute

WINDOWS = {
    "sliding-window": Window(LIMIT, PERIOD_S * 1000),
    "sliding-log": Window(LIMIT, PERIOD_S * 1000, "sliding_log"),
    "sliding-estimate": Window(LIMIT, PERIOD_S * 1000, "sliding_estimate"),
    "fixed-window": Window(LIMIT, PERIOD_S * 1000, "fixed_window"),
    "token-bucket": Window(LIMIT, PERIOD_S * 1000, "token_bucket"),
    "leaky-bucket": Window(LIMIT, PERIOD_S * 1000, "leaky_bucket"),
}


@dataclass(frozen=True)
class Story:
    """By second: how many were admitted and refused, and how many had been admitted in the minute that ends there."""

    admitted: list[int]
    refused: list[int]
    last_minute: list[int]
    most: int  # admitted in any minute, to the millisecond


def offered() -> list[int]:
    """When requests come, in milliseconds: one, a burst of 20 a second around 1:00, and then two a second."""
    burst = range(54_000, 66_000, 50)
    return [0, *burst, *range(66_000, SECONDS * 1000, 500)]


def story(window: Window) -> Story:
    now_ms = START_MS
    limiter = Limiter(MemoryStore(), clock_ms=lambda: now_ms)
    admitted, refused, times = [0] * SECONDS, [0] * SECONDS, []
    for at_ms in offered():
        now_ms = START_MS + at_ms
        if limiter.hit("somebody", [window]):
            admitted[at_ms // 1000] += 1
            times.append(at_ms)
        else:
            refused[at_ms // 1000] += 1

    def in_the_minute_to(end_ms: int) -> int:
        return bisect_right(times, end_ms) - bisect_right(times, end_ms - PERIOD_S * 1000)

    last_minute = [in_the_minute_to(second * 1000 + 999) for second in range(SECONDS)]
    return Story(admitted, refused, last_minute, max(map(in_the_minute_to, times)))
