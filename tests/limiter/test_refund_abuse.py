"""Refunds do not buy more than the limit: what was done and not given back stays within what each algorithm promises.

Whoever gives back units has not used them, so the adversary's gain is what it keeps. It gives back late, in
parts, twice, in any order, and what has long left the window.
"""

import random
from bisect import bisect_right
from dataclasses import dataclass, field

import pytest

from ratewindow.limiter import Decision, Limiter, MemoryStore, Window
from ratewindow.limiter.limiter import Store
from tests.support.clock import Clock

pytestmark = [pytest.mark.long, pytest.mark.usefixtures("never_expiring")]  # the server's own time is not the test's

LIMIT, PERIOD_MS, BURST = 10, 6000, 4
USER = "user:42"

# What is kept in any window at most. A fixed window begins with the first hit, also if that is given back later.
CASES = [
    (Window(LIMIT, PERIOD_MS), LIMIT),
    (Window(LIMIT, PERIOD_MS, buckets=3), LIMIT),
    (Window(LIMIT, PERIOD_MS, "sliding_log"), LIMIT),
    (Window(LIMIT, PERIOD_MS, "sliding_estimate"), 2 * LIMIT - 1),
    (Window(LIMIT, PERIOD_MS, "fixed_window"), 2 * LIMIT),
    (Window(LIMIT, PERIOD_MS, "token_bucket", burst=BURST), BURST + LIMIT - 1),
    (Window(LIMIT, PERIOD_MS, "leaky_bucket"), LIMIT),
]
NAMES = [f"{window.algorithm}-{window.burst or window.buckets}" for window, _ in CASES]


@dataclass
class Charge:
    at_ms: int
    kept: int
    decision: Decision


@dataclass
class Adversary:
    limiter: Limiter
    windows: list[Window]
    clock: Clock
    charges: list[Charge] = field(default_factory=list)

    def hit(self, cost: int = 1, **how: bool) -> Charge | None:
        told = self.limiter.hit(USER, self.windows, cost, **how)
        if told:
            self.charges.append(Charge(self.clock.now_ms, cost, told))
        return self.charges[-1] if told else None

    def give_back(self, charge: Charge, cost: int) -> None:
        """By the decision; it has done the work of what is left."""
        self.limiter.refund(USER, self.windows, cost, decision=charge.decision)
        charge.kept -= min(cost, charge.kept)

    def most_kept(self, period_ms: int = PERIOD_MS) -> int:
        times = [charge.at_ms for charge in self.charges for _ in range(charge.kept)]
        return max((bisect_right(times, at) - bisect_right(times, at - period_ms) for at in times), default=0)


@pytest.mark.parametrize(("window", "promised"), CASES, ids=NAMES)
def test_no_random_adversary_keeps_more_than_is_promised(window: Window, promised: int) -> None:
    dice = random.Random(19)
    most = 0
    for _ in range(50):
        clock = Clock()
        adversary = Adversary(Limiter(MemoryStore(), clock_ms=clock), [window], clock)
        for _ in range(150):
            clock.now_ms += dice.choice([0, 0, 1, 99, 100, 599, 600, dice.randrange(PERIOD_MS), PERIOD_MS - 1])
            for _ in range(dice.choice([1, 1, LIMIT])):
                adversary.hit(dice.choice([1, 1, 2, 5, LIMIT]), count_refused=dice.random() < 0.1)
            if adversary.charges and dice.random() < 0.5:
                recent = adversary.charges[-dice.choice([1, 3, 20]) :]
                adversary.give_back(dice.choice(recent), dice.choice([1, 2, LIMIT, 3 * LIMIT]))
        most = max(most, adversary.most_kept())
    assert 0 < most <= promised


def test_an_early_charge_given_back_late_gains_nothing(store: Store, clock: Clock) -> None:
    """An early charge given back late must not take a late one out in its place, nor buy a bucket what has drained already."""
    for window, promised in CASES:
        adversary = Adversary(Limiter(store, clock_ms=clock), [window], clock)
        early = adversary.hit(window.burst or LIMIT // 2)
        clock.now_ms += PERIOD_MS - 100
        while adversary.hit():
            pass
        assert early is not None
        adversary.give_back(early, early.kept)
        for _ in range(PERIOD_MS // 50):
            while adversary.hit():
                pass
            clock.now_ms += 50
        assert adversary.most_kept() <= promised, window
        clock.now_ms += 10 * PERIOD_MS


def test_the_same_charge_given_back_twice_gains_nothing(store: Store, clock: Clock) -> None:
    for window, _ in CASES:
        limiter = Limiter(store, clock_ms=clock)
        first = limiter.hit(USER, [window])
        held = 0
        while limiter.hit(USER, [window]):
            held += 1
        for _ in range(5):
            limiter.refund(USER, [window], decision=first)
        assert limiter.peek(USER, [window]).remaining <= 1, window
        clock.now_ms += 10 * PERIOD_MS


def test_a_charge_that_has_left_gives_nothing_back(store: Store, clock: Clock) -> None:
    for window, _ in CASES:
        limiter = Limiter(store, clock_ms=clock)
        old = limiter.hit(USER, [window])
        clock.now_ms += 3 * PERIOD_MS
        limiter.hit(USER, [window])
        before = limiter.peek(USER, [window]).remaining
        limiter.refund(USER, [window], decision=old)
        assert limiter.peek(USER, [window]).remaining == before, window
        clock.now_ms += 10 * PERIOD_MS


@pytest.mark.parametrize("window", [window for window, _ in CASES], ids=NAMES)
def test_a_refused_request_that_was_counted_gives_nothing_back(store: Store, clock: Clock, window: Window) -> None:
    """It was admitted nowhere: giving it back would make room that was never paid for."""
    limiter, capacity = Limiter(store, clock_ms=clock), window.burst or LIMIT
    for _ in range(capacity - 1):
        limiter.hit(USER, [window])
    for cost in (2, capacity):
        refused = limiter.hit(USER, [window], cost, count_refused=True)
        assert bool(refused) == (capacity == 1 == cost)
        limiter.refund(USER, [window], LIMIT, decision=refused)
    assert limiter.peek(USER, [window]).remaining <= 1


@pytest.mark.parametrize("algorithm", ["token_bucket", "leaky_bucket"])
def test_a_forced_charge_gives_back_no_more_than_was_left_to_take(store: Store, clock: Clock, algorithm: str) -> None:
    """Forced, a bucket charges what is left in it: less than its cost."""
    window = Window(LIMIT, PERIOD_MS, algorithm, burst=LIMIT)
    limiter = Limiter(store, clock_ms=clock)
    limiter.hit(USER, [window], LIMIT - 1)
    forced = limiter.hit(USER, [window], LIMIT, force=True)
    assert forced.forced
    limiter.refund(USER, [window], LIMIT, decision=forced)
    assert limiter.peek(USER, [window]).remaining <= 1


def test_without_a_decision_the_oldest_units_go(store: Store, clock: Clock) -> None:
    """They would have left first: whichever of the units that count the caller means, no window holds more."""
    for algorithm in ("sliding_log", "sliding_window"):
        window = Window(LIMIT, PERIOD_MS, algorithm, buckets=6 if algorithm == "sliding_window" else None)
        limiter = Limiter(store, clock_ms=clock)
        limiter.hit(USER, [window], 4)
        clock.now_ms += PERIOD_MS - 1000
        limiter.hit(USER, [window], 6)
        limiter.refund(USER, [window], 4)
        assert limiter.hit(USER, [window], 4)
        clock.now_ms += 2000
        assert limiter.peek(USER, [window]).remaining == 0, "the four early ones have gone already, not four late ones"
        clock.now_ms += 10 * PERIOD_MS
