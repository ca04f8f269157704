"""Leases: many hits for one call, and never more in any window than the stated few above the limit."""

import random

import pytest

from ratewindow.limiter.leases import Leases
from ratewindow.limiter.limiter import Limiter
from ratewindow.limiter.memory import MemoryStore
from ratewindow.limiter.reply import Reply
from ratewindow.limiter.types import Check, Window
from tests.support.clock import Clock

PERIOD_MS = 10_000
SLIDING = ("sliding_log", "sliding_window")


def check(limit: int = 1000, lease: int = 20, algorithm: str = "sliding_log", **fields: object) -> Check:
    return Check("hot", (Window(limit, PERIOD_MS, algorithm),), ("hot",), lease=lease)._replace(**fields)  # type: ignore[arg-type]


class Process:
    """One process with leases, on a store that others share."""

    def __init__(self, store: MemoryStore, clock: Clock) -> None:
        self.leases = Leases(clock)
        self.store, self.clock, self.calls = store, clock, 0

    def hit(self, *checks: Check) -> bool:
        return not any(answer.refuses for answer in self.reply(*checks))

    def reply(self, *checks: Check) -> Reply:
        plan = self.leases.plan(checks)
        reply: Reply = []
        if plan.asked:
            self.calls += 1
            reply = self.store.run(plan.asked, "hit", self.clock())
        whole = self.leases.settle(plan, reply)
        if whole is None:
            self.calls += 1
            whole = self.store.run(list(checks), "hit", self.clock())
        return whole


@pytest.fixture
def store(clock: Clock) -> MemoryStore:
    return MemoryStore(clock_ms=clock)


def test_a_hot_key_asks_once_for_many_hits(store: MemoryStore, clock: Clock) -> None:
    process = Process(store, clock)
    assert all(process.hit(check(limit=100_000, lease=100)) for _ in range(10_000))
    assert process.calls < 120  # a hundred leases, and the small ones of the beginning


def test_a_key_that_is_not_hot_is_counted_one_by_one(store: MemoryStore, clock: Clock) -> None:
    process = Process(store, clock)
    for _ in range(20):
        assert process.hit(check())
        clock.now_ms += 1500  # longer than units are held
    used = 1000 - process.store.run([check(cost=1)], "peek", clock())[0].windows[0].remaining
    assert used <= 8  # those of the last ten seconds, and none that was taken and lost


def test_leases_grow_while_they_are_used_and_are_small_again_after_a_rest(store: MemoryStore, clock: Clock) -> None:
    process = Process(store, clock)
    sizes = []
    for _ in range(40):
        plan = process.leases.plan([check(limit=100_000, lease=16)])
        if plan.asked:
            sizes.append(plan.asked[0].cost)
        process.leases.settle(plan, store.run(plan.asked, "hit", clock()) if plan.asked else [])
    assert sizes == [1, 2, 4, 8, 16, 16]
    clock.now_ms += 2000
    assert process.leases.plan([check(limit=100_000, lease=16)]).asked[0].cost == 9  # as many as were used of the last


def test_near_the_limit_every_unit_is_asked_for(store: MemoryStore, clock: Clock) -> None:
    process = Process(store, clock)
    assert sum(process.hit(check(limit=100, lease=50)) for _ in range(300)) == 100


@pytest.mark.parametrize("algorithm", SLIDING)
def test_no_window_admits_more_than_the_limit_and_what_processes_may_hold(algorithm: str, clock: Clock) -> None:
    """The stated bound, over a long history of several processes with bursts and rests."""
    chance, limit, lease, processes = random.Random(5), 200, 15, 4
    store = MemoryStore(clock_ms=clock)
    some = [Process(store, clock) for _ in range(processes)]
    admitted: list[int] = []
    for _ in range(6000):
        if some[chance.randrange(processes)].hit(check(limit, lease, algorithm)):
            admitted.append(clock())
        clock.now_ms += chance.choice((0, 0, 0, 1, 5, 20, 400 if chance.random() < 0.05 else 2))
    begin = 0
    most = 0
    for end, at_ms in enumerate(admitted):
        while admitted[begin] <= at_ms - PERIOD_MS:
            begin += 1
        most = max(most, end - begin + 1)
    assert limit * 0.8 < most <= limit + processes * (lease - 1)


def test_what_another_rule_refuses_is_not_spent(store: MemoryStore, clock: Clock) -> None:
    process = Process(store, clock)
    full = Check("full", (Window(0, 1000),), ("full",))
    for _ in range(50):
        assert process.hit(check())
    before = process.leases.plan([]), next(vars(pocket) for pocket in process.leases._held.values())["units"]
    for _ in range(30):
        assert not process.hit(check(), full)
    assert process.leases._held[("hot",)].units == before[1]


def test_a_refusal_has_the_wait_of_one_hit(store: MemoryStore, clock: Clock) -> None:
    leased, exact = Process(store, clock), Limiter(MemoryStore(clock_ms=clock), clock_ms=clock)
    for _ in range(100):
        assert leased.hit(check(limit=100, lease=50))
        assert exact.hit("x", [Window(100, PERIOD_MS, "sliding_log")])
        clock.now_ms += 3
    told = exact.hit("x", [Window(100, PERIOD_MS, "sliding_log")])
    wait_ms = leased.reply(check(limit=100, lease=50))[0].windows[0].wait_ms
    assert 0 < wait_ms <= (told.retry_after or 0) * 1000  # units of a lease count from when it was taken


@pytest.mark.parametrize(
    "fields", [{"enforce": False}, {"counts_refused": True}, {"penalty_ms": 5}, {"only_looks": True}, {"cost": 0}]
)
def test_checks_that_want_to_know_each_hit_take_no_lease(fields: dict[str, object], clock: Clock) -> None:
    leases = Leases(clock)
    for _ in range(5):
        plan = leases.plan([check(**fields)])  # type: ignore[arg-type]
        assert plan.asked == [check(**fields)]  # type: ignore[arg-type]


def test_a_call_without_an_answer_gives_back_what_was_spent(store: MemoryStore, clock: Clock) -> None:
    process = Process(store, clock)
    for _ in range(20):
        process.hit(check())
    units = process.leases._held[("hot",)].units
    plan = process.leases.plan([check(), Check("other", (Window(5, 1000),), ("other",))])
    assert process.leases._held[("hot",)].units == units - 1
    process.leases.release(plan)
    assert process.leases._held[("hot",)].units == units


def test_the_number_of_keys_that_are_held_is_bounded(store: MemoryStore, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ratewindow.limiter.leases.MOST_KEPT", 10)
    process = Process(store, clock)
    for number in range(50):
        process.hit(check()._replace(keys=(f"hot-{number}",)))
    assert len(process.leases._held) == 10
