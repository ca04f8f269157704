"""Random histories: several rules with several windows, edited limits, weights, bursts, a clock that steps."""

import random
from collections.abc import Iterator
from typing import NamedTuple

from ratewindow.limiter.types import Check, Window
from tests.limiter.oracle import Limit, Question

START_MS = 1_732_094_855_123


class Step(NamedTuple):
    checks: list[Check]
    charge: bool
    now_ms: int

    def questions(self) -> list[Question]:
        """The same step as the oracle is asked it."""
        return [
            Question(
                {
                    key: Limit(window.limit, window.period_ms, -(-window.period_ms // (window.buckets or 1)))
                    for window, key in zip(check.windows, check.keys, strict=True)
                },
                check.cost,
                check.enforce,
            )
            for check in self.checks
        ]


def history(seed: int, steps: int, steady_clock: bool = False) -> Iterator[Step]:
    """Steps of one client: a few rules whose windows stay while their limits are edited now and then."""
    dice = random.Random(seed)
    shapes = [
        [(dice.choice([7, 50, 61, 1000, 60_000]), dice.choice([None, 1, 3, 10])) for _ in range(dice.choice([1, 1, 2, 3]))]
        for _ in range(dice.choice([1, 1, 2, 3]))
    ]
    modes = [dice.random() < 0.7 for _ in shapes]
    limits = [[dice.choice([0, 1, 2, 5, 20, 200]) for _ in each] for each in shapes]
    now_ms = START_MS + dice.randrange(60_000)
    for _ in range(steps):
        now_ms += dice.choice([0, 0, 0, 1, 1, 2, 5, dice.randrange(30), dice.randrange(1000), dice.randrange(20_000)])
        if not steady_clock and dice.random() < 0.03:
            now_ms -= dice.choice([1, 20, dice.randrange(1000), dice.randrange(100_000), 10_000_000])
        if dice.random() < 0.05:
            limits = [[dice.choice([0, 1, 2, 5, 20, 200]) for _ in each] for each in shapes]
        checks = []
        for number, shape in enumerate(shapes):
            windows = tuple(
                Window(limit, period, buckets=buckets) for limit, (period, buckets) in zip(limits[number], shape, strict=True)
            )
            keys = tuple(f"h{seed}:{number}:{place}" for place in range(len(shape)))
            cost = dice.choice([0, 1, 1, 1, 1, 2, 5, 150, 300])
            checks.append(Check(f"rule{number}", windows, keys, cost, modes[number]))
        yield Step(checks, dice.random() < 0.85, now_ms)
