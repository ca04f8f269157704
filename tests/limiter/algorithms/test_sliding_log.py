"""A big log holds nobody up: each call takes few steps, and what the log does not keep never frees a unit early."""

import random
from collections import deque
from collections.abc import Callable, Iterator

import pytest
import redis

from ratewindow.limiter import Limiter, MemoryStore, RedisStore, Window
from ratewindow.limiter.algorithms.sliding_log import MOST_LATER
from ratewindow.limiter.limiter import Store
from ratewindow.limiter.types import Check, RuleDecision, What
from tests.support.clock import START_MS, Clock

LIMIT, PERIOD_MS = 100_000, 3_600_000
LOG = Window(LIMIT, PERIOD_MS, "sliding_log")
USER = "user:42"
FEW = 100  # a bisection of 100,000 entries has seventeen steps, and the way to it as many


@pytest.fixture
def client(redis_url: str) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(redis_url) as client:
        try:
            with client.monitor():
                pass
        except (redis.RedisError, AttributeError):
            pytest.skip("only a real server tells what its scripts do")
        yield client


@pytest.fixture
def full(client: redis.Redis, clock: Clock) -> Limiter:
    """A limiter whose user has charged one unit in each of the last 100,000 milliseconds."""
    limiter = Limiter(RedisStore(client), clock_ms=clock, believed_ms=0)
    limiter.hit(USER, [LOG])
    [key] = client.keys("*")
    client.delete(key)
    times = range(clock.now_ms + 1 - LIMIT, clock.now_ms + 1)
    client.rpush(key, "0", *[f"{time}{number % 1_000_000:06}" for number, time in enumerate(times, 1)])
    assert limiter.peek(USER, [LOG]).remaining == 0
    return limiter


def work_of(client: redis.Redis, act: Callable[[], object]) -> int:
    """How many entries of lists the server's commands touch meanwhile; more than it has, where a command walks along a list."""
    with client.monitor() as monitor:
        act()
        client.echo("that was it")
        work = 0
        while True:
            name, *words = monitor.next_command()["command"].split()
            match name.upper():
                case "ECHO":
                    return work
                case "LRANGE":
                    work += (int(words[-1]) if words[-1] != "-1" else client.llen(words[0])) - int(words[-2]) + 1
                case "RPUSH":
                    work += len(words) - 1
                case "LREM" | "LPOS" | "LINSERT":
                    work += 1_000_000
                case _:
                    work += 1


def test_a_look_at_a_big_log_takes_few_steps(client: redis.Redis, full: Limiter, clock: Clock) -> None:
    assert work_of(client, lambda: full.hit(USER, [LOG])) <= FEW
    assert work_of(client, lambda: full.peek(USER, [LOG], LIMIT // 2)) <= FEW
    clock.now_ms += PERIOD_MS - 2  # all but two units have left
    for _ in range(3):  # and a look removes nothing
        assert work_of(client, lambda: full.peek(USER, [LOG])) <= FEW
        assert work_of(client, lambda: full.hit(USER, [LOG], LIMIT)) <= FEW
    assert full.peek(USER, [LOG]).remaining == LIMIT - 2


@pytest.mark.parametrize("cost", [99_999, 1_000_000])
def test_a_high_cost_is_one_entry(client: redis.Redis, clock: Clock, cost: int) -> None:
    limiter = Limiter(RedisStore(client), clock_ms=clock)
    assert work_of(client, lambda: limiter.charge(USER, [LOG], cost)) <= FEW
    [key] = client.keys("*")
    assert client.llen(key) == 2  # with the one where the totals begin
    clock.now_ms += 1
    assert work_of(client, lambda: limiter.charge(USER, [LOG], cost)) <= FEW
    assert work_of(client, lambda: limiter.refund(USER, [LOG], cost)) <= FEW


def test_a_refund_to_a_big_log_takes_few_steps_or_as_many_as_may_be_exact(
    client: redis.Redis, full: Limiter, clock: Clock
) -> None:
    early = full.charge(USER, [LOG], 1)
    for _ in range(MOST_LATER):
        clock.now_ms += 1
        full.charge(USER, [LOG], 1)
    assert work_of(client, lambda: full.refund(USER, [LOG], decision=early)) <= 2 * MOST_LATER + FEW
    early = full.charge(USER, [LOG], 1)
    for _ in range(MOST_LATER + 1):
        clock.now_ms += 1
        full.charge(USER, [LOG], 1)
    assert work_of(client, lambda: full.refund(USER, [LOG], decision=early)) <= FEW
    assert work_of(client, lambda: full.refund(USER, [LOG], LIMIT // 2)) <= FEW
    assert work_of(client, lambda: full.hit(USER, [LOG], count_refused=True)) <= FEW


@pytest.mark.usefixtures("never_expiring")
def test_a_charge_that_many_have_followed_gives_back_the_oldest_units_instead(store: Store, clock: Clock) -> None:
    limiter, window = Limiter(store, clock_ms=clock), [Window(5000, PERIOD_MS, "sliding_log")]
    limiter.hit(USER, window, 10)
    clock.now_ms += 1000
    early = limiter.hit(USER, window, 7)
    for _ in range(MOST_LATER + 1):
        clock.now_ms += 1
        limiter.hit(USER, window)
    limiter.refund(USER, window, 7, decision=early)
    assert limiter.peek(USER, window).remaining == 5000 - 10 - MOST_LATER - 1
    clock.now_ms += PERIOD_MS - 1000 - MOST_LATER - 1  # now the first ten leave, of which three were left
    assert limiter.peek(USER, window).remaining == 5000 - 7 - MOST_LATER - 1
    clock.now_ms += 1000
    assert limiter.peek(USER, window).remaining == 5000 - MOST_LATER - 1


@pytest.mark.usefixtures("never_expiring")
@pytest.mark.parametrize("seed", range(12))
def test_high_costs_agree_with_the_twin_and_free_no_unit_early(store: Store, seed: int) -> None:
    dice, twin, exact = random.Random(seed), MemoryStore(), Exact()
    now_ms, charged = START_MS, deque[tuple[int, int]](maxlen=5)
    counts_refused = seed % 4 == 0
    costs = [1, 2, 900, 50_000, 100_000, 400_000, 999_998, 999_999, 1_000_000]
    for _ in range(60):
        now_ms += dice.choice([0, 0, 1, 500, 20_000, 61_000])
        window, cost = Window(dice.choice([1, 1000, LIMIT]), 60_000, "sliding_log"), dice.choice(costs)
        check = Check("rule", (window,), (f"high:{seed}",), cost, True, counts_refused)
        what: What = dice.choice(["hit", "hit", "peek", "charge", "charge"])
        if charged and dice.random() < 0.4:
            time, units = dice.choice(charged)
            units = dice.choice([units, units // 2 or 1])
            for each in (store, twin):
                each.refund([(check._replace(cost=units), [time])], now_ms)
            exact.refund(units, time)
        reply = store.run([check], what, now_ms)
        assert reply == twin.run([check], what, now_ms)
        [(_, remaining, _, _, charged_at_ms)] = reply[0].windows
        if charged_at_ms >= 0:
            exact.charges.append([charged_at_ms, cost])
            charged.append((charged_at_ms, cost))
        assert counts_refused or remaining <= max(0, window.limit - exact.used(now_ms))  # of refusals fewer are kept


class Exact:
    """Every charge, without any bound."""

    def __init__(self) -> None:
        self.charges: list[list[int]] = []

    def used(self, now_ms: int) -> int:
        return sum(units for time, units in self.charges if now_ms - time < 60_000)

    def refund(self, units: int, time_ms: int) -> None:
        for charge in self.charges:
            if charge[0] == time_ms:
                gone = min(units, charge[1])
                charge[1] -= gone
                units -= gone


@pytest.mark.usefixtures("never_expiring")
def test_a_raised_limit_finds_what_was_charged_above_the_old_one(store: Store, clock: Clock) -> None:
    limiter = Limiter(store, clock_ms=clock)
    limiter.charge(USER, [Window(1, PERIOD_MS, "sliding_log")], 60_000)
    clock.now_ms += 1
    limiter.charge(USER, [Window(1, PERIOD_MS, "sliding_log")], 30_000)
    assert limiter.peek(USER, [LOG]).remaining == 10_000
    assert not limiter.hit(USER, [LOG], 10_001)


@pytest.mark.usefixtures("never_expiring")
def test_a_log_that_is_never_empty_goes_on_beyond_a_million_units(store: Store, clock: Clock) -> None:
    """The totals begin anew there."""
    limiter, window = Limiter(store, clock_ms=clock), [Window(LIMIT, PERIOD_MS, "sliding_log")]
    decision = RuleDecision()
    for _ in range(60):
        decision = limiter.hit(USER, window, 40_000)
        assert decision
        clock.now_ms += PERIOD_MS // 2
    assert decision.remaining == 20_000
    assert limiter.hit(USER, window, 60_000)
    assert not limiter.hit(USER, window)
