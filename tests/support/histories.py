"""Random histories: several rules with several windows, edited limits, weights, bursts, refunds, a clock that steps."""

import random
from collections.abc import Iterator
from typing import NamedTuple

from ratewindow.limiter.algorithms import algorithm_choices
from ratewindow.limiter.algorithms.fixed_window import ALIGNMENTS_MS
from ratewindow.limiter.penalties import Growing, Penalty
from ratewindow.limiter.types import Check, What, Window
from tests.support.oracle import Question
from tests.support.oracle_algorithms import Limit

START_MS = 1_732_094_855_123
ALGORITHMS = [name for name, _ in algorithm_choices()]
LIMITS = [0, 1, 2, 5, 20, 200]
BUCKETS = [60, 1, 3, 10, 200]
PENALTIES: list[Penalty] = [
    *[10, 500, 30_000],
    *[Growing((10, 500, 30_000), 60_000), Growing((1, 700), 700), Growing((10, 10, 9000), 86_400_000)],
]


class Step(NamedTuple):
    checks: list[Check]
    what: What
    now_ms: int
    refund: int | None  # before the step: units to give back of the newest charge (positive) or the oldest (negative)

    def questions(self) -> list[Question]:
        """The same step as the oracle is asked it."""
        return [
            Question(
                {key: as_limit(window) for window, key in zip(check.windows, check.keys, strict=True)},
                check.cost,
                check.enforce,
                check.counts_refused,
                (check.penalty_ms,) if isinstance(check.penalty_ms, int) else check.penalty_ms.steps_ms,
                0 if isinstance(check.penalty_ms, int) else check.penalty_ms.within_ms,
                check.lock,
                check.only_looks,
            )
            for check in self.checks
        ]


def as_limit(window: Window) -> Limit:
    return Limit(
        window.algorithm,
        window.limit,
        window.period_ms,
        window.buckets or 1,
        window.burst or 0,
        window.aligned_to,
        window.timezone,
        window.day,
    )


class _Shape(NamedTuple):
    algorithm: str
    period_ms: int
    buckets: int | None
    burst: int | None
    aligned_to: str
    timezone: str
    day: int

    def window(self, limit: int) -> Window:
        return Window(limit, self.period_ms, self.algorithm, self.buckets, self.burst, self.aligned_to, self.timezone, self.day)

    def edited(self, dice: random.Random) -> "_Shape":
        """With another number of buckets, where it has them; its count stays."""
        return self if self.buckets is None or dice.random() < 0.5 else self._replace(buckets=dice.choice(BUCKETS))


def _shape(dice: random.Random, algorithms: list[str]) -> _Shape:
    algorithm = dice.choice(algorithms)
    period_ms, aligned_to = dice.choice([7, 50, 61, 1000, 60_000]), ""
    if algorithm == "fixed_window" and dice.random() < 0.4:
        aligned_to, period_ms = dice.choice(list(ALIGNMENTS_MS.items()))
    buckets = dice.choice(BUCKETS) if algorithm == "sliding_window" else None
    burst = dice.choice([None, 1, 3, 30]) if algorithm in ("token_bucket", "leaky_bucket") else None
    timezone = dice.choice(["UTC", "Asia/Kolkata", "America/St_Johns"]) if aligned_to else "UTC"
    day = dice.choice([1, 15, 29, 31]) if aligned_to == "month" else 1
    return _Shape(algorithm, period_ms, buckets, burst, aligned_to, timezone, day)


def history(
    seed: int, steps: int, algorithms: list[str] = ALGORITHMS, plain: bool = False, since_ms: int | None = None
) -> Iterator[Step]:
    """Steps of a few rules whose windows stay while their limits are edited now and then.

    Every rule sees the same client or, of an even seed, each another one: on a cluster these are several groups.

    `plain`: only hits and peeks, no refunds, and a clock that never goes back. `since_ms`: a clock that begins then, and
    never tells less.
    """
    dice = random.Random(seed)
    rules = [[_shape(dice, algorithms) for _ in range(dice.choice([1, 1, 2, 3]))] for _ in range(dice.choice([1, 1, 2, 3]))]
    modes = [dice.random() < 0.7 for _ in rules]
    penalties = [0 if plain or dice.random() < 0.7 else dice.choice(PENALTIES) for _ in rules]
    counting = [not plain and dice.random() < 0.3 for _ in rules]
    looking = [not plain and dice.random() < 0.2 for _ in rules]
    limits = [[dice.choice(LIMITS) for _ in each] for each in rules]
    now_ms = START_MS + dice.randrange(60_000) if since_ms is None else since_ms
    for _ in range(steps):
        now_ms += dice.choice([0, 0, 0, 1, 1, 2, 5, dice.randrange(30), dice.randrange(1000), dice.randrange(20_000)])
        if not plain and dice.random() < 0.03:
            now_ms = max(since_ms or 0, now_ms - dice.choice([1, 20, dice.randrange(1000), dice.randrange(100_000), 10_000_000]))
        if dice.random() < 0.05:
            limits = [[dice.choice(LIMITS) for _ in each] for each in rules]
            rules = [[shape.edited(dice) for shape in each] for each in rules]
            penalties = [penalty and dice.choice(PENALTIES) for penalty in penalties]
        checks = []
        for number, shapes in enumerate(rules):
            client = "{" + (f"{seed}" if seed % 2 else f"{seed}:{number}") + "}"
            keys = tuple(f"h{number}:{place}:{client}" for place in range(len(shapes)))
            windows = tuple(shape.window(limit) for shape, limit in zip(shapes, limits[number], strict=True))
            cost = dice.choice([0, 1, 1, 1, 1, 2, 5, 150, 300])
            lock = f"h{number}:lock:{client}" if penalties[number] else ""
            looks = looking[number] and dice.random() < 0.7  # sometimes it charges, as once its answer is there
            how = (modes[number], counting[number], penalties[number], lock, looks)
            checks.append(Check(f"rule{number}", windows, keys, cost, *how))
        whats: list[What] = ["hit"] * 17 + ["peek"] * 3 + ([] if plain else ["force", "charge", "refused"])
        refund = None if plain or dice.random() > 0.1 else dice.choice([1, 2, 7, -1, -3])
        yield Step(checks, dice.choice(whats), now_ms, refund)
