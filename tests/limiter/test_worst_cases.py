"""The most that an adversary gets through in one window: what each algorithm states, reached and not exceeded."""

import random
from bisect import bisect_right
from collections.abc import Callable

import pytest

from ratewindow.limiter import Limiter, MemoryStore, Window
from ratewindow.limiter.limiter import Store
from tests.support.clock import Clock

pytestmark = pytest.mark.long

LIMIT, PERIOD_MS, BURST = 10, 60_000, 4
START_MS = 1_732_094_880_000  # an edge of the minute

Admitted = list[int]
Attack = Callable[["Trial"], None]


class Trial:
    """A client with one window, and when its units were admitted."""

    def __init__(self, store: Store, window: Window) -> None:
        self.clock, self.window = Clock(START_MS), window
        self.limiter, self.admitted = Limiter(store, clock_ms=self.clock), Admitted()

    def hit(self, calls: int = 1, cost: int = 1) -> None:
        for _ in range(calls):
            if self.limiter.hit("user:42", [self.window], cost):
                self.admitted += [self.clock.now_ms] * cost

    def at(self, time_ms: int) -> "Trial":
        self.clock.now_ms = START_MS + time_ms
        return self

    def most(self) -> int:
        """The most units in any (t - period, t]."""
        times = self.admitted
        return max(bisect_right(times, at) - bisect_right(times, at - PERIOD_MS) for at in times)


def around_the_edge(trial: Trial) -> None:
    """All at once at the last moment, and again as soon as something is free."""
    trial.at(PERIOD_MS - 1).hit(3 * LIMIT)
    for step_ms in range(PERIOD_MS, 2 * PERIOD_MS, 500):
        trial.at(step_ms).hit(2)
    trial.at(2 * PERIOD_MS - 2).hit(3 * LIMIT)


def first_alone(trial: Trial) -> None:
    """One that begins the window, the rest at its end, and all again in the next."""
    trial.at(0).hit()
    trial.at(PERIOD_MS - 1).hit(3 * LIMIT)
    trial.at(PERIOD_MS).hit(3 * LIMIT)


def burst_and_refill(trial: Trial) -> None:
    """A whole burst, and each unit that is refilled, as soon as it is."""
    for step_ms in range(PERIOD_MS):
        if step_ms % 500 in (0, 499) or not step_ms:
            trial.at(step_ms).hit(2 * LIMIT)


ATTACKS = [around_the_edge, first_alone, burst_and_refill]

CASES = [
    (Window(LIMIT, PERIOD_MS), LIMIT),
    (Window(LIMIT, PERIOD_MS, buckets=1), LIMIT),
    (Window(LIMIT, PERIOD_MS, "sliding_log"), LIMIT),
    (Window(LIMIT, PERIOD_MS, "sliding_estimate"), 2 * LIMIT - 1),
    (Window(LIMIT, PERIOD_MS, "fixed_window"), 2 * LIMIT - 1),
    (Window(LIMIT, PERIOD_MS, "fixed_window", aligned_to="minute"), 2 * LIMIT),
    (Window(LIMIT, PERIOD_MS, "token_bucket"), 2 * LIMIT - 1),
    (Window(LIMIT, PERIOD_MS, "token_bucket", burst=BURST), BURST + LIMIT - 1),
    (Window(LIMIT, PERIOD_MS, "leaky_bucket"), LIMIT),
    (Window(LIMIT, PERIOD_MS, "leaky_bucket", burst=BURST), BURST + LIMIT - 1),
]
NAMES = [f"{window.algorithm}-{window.aligned_to or window.burst or window.buckets}" for window, _ in CASES]


@pytest.mark.usefixtures("never_expiring")
@pytest.mark.parametrize(("window", "worst"), CASES, ids=NAMES)
def test_the_stated_worst_case_is_reached_and_never_exceeded(store: Store, window: Window, worst: int) -> None:
    most = 0
    for attack in ATTACKS:
        trial = Trial(store, window)
        attack(trial)
        most = max(most, trial.most())
        trial.limiter.reset("user:42", [window])
    assert most == worst


@pytest.mark.parametrize(("window", "worst"), CASES, ids=NAMES)
def test_no_random_attack_exceeds_the_stated_worst_case(window: Window, worst: int) -> None:
    dice, most = random.Random(17), 0
    for _ in range(60):
        trial, time_ms = Trial(MemoryStore(), window), 0
        for _ in range(200):
            near_edge = PERIOD_MS - time_ms % PERIOD_MS - dice.choice([0, 1, 2])
            time_ms += dice.choice([0, 0, 1, 999, 5999, 6000, dice.randrange(20_000), max(0, near_edge)])
            trial.at(time_ms).hit(dice.choice([1, 1, LIMIT]), dice.choice([1, 1, 1, 2, 3, LIMIT]))
        most = max(most, trial.most() if trial.admitted else 0)
    assert 0 < most <= worst
