"""Refusals known to this process: fewer round trips, and never a wrong admission."""

import random
import time
from types import SimpleNamespace
from typing import Any

import pytest
import redis
import time_machine

from ratewindow.limiter import Limiter, MemoryStore, RedisStore, Window, reply
from ratewindow.limiter.reply import Reply
from ratewindow.limiter.types import Check
from tests.support.clock import Clock

LIMIT = [Window(3, period_ms=60_000)]


class Counting(RedisStore):
    """A store that counts its round trips."""

    asked = 0

    def run(self, *arguments: Any, **options: Any) -> Reply:
        self.asked += 1
        return super().run(*arguments, **options)


@pytest.fixture
def store(redis_url: str) -> Any:
    with redis.Redis.from_url(redis_url) as client:
        yield Counting(client)


def test_a_refusal_is_repeated_without_asking_with_its_wait_as_it_is_now(store: Counting, clock: Clock) -> None:
    limiter = Limiter(store, clock_ms=clock)
    for _ in range(3):
        limiter.hit("user:42", LIMIT)
    first = limiter.hit("user:42", LIMIT)
    assert store.asked == 4
    clock.now_ms += 400
    again = limiter.hit("user:42", LIMIT)
    assert store.asked == 4
    assert not again
    assert first.retry_after is not None
    assert again.retry_after == pytest.approx(first.retry_after - 0.4)
    assert again.reset_after == again.retry_after
    assert again.id == first.id


def test_a_refusal_has_one_code_for_a_client_a_rule_and_an_hour() -> None:
    hour_s = 500_000 * 3600
    login, api = (Limiter(MemoryStore(), prefix=rule) for rule in ("login", "api"))
    none = Window(0, period_ms=60_000)
    with time_machine.travel(hour_s, tick=False) as now:
        codes = [rule.hit(who, none).id for who in ("user:1", "user:2") for rule in (login, api)]
        assert len({*codes}) == 4 and all(len(code) == 5 and {*code} <= {*reply.LETTERS} for code in codes)
        now.move_to(hour_s + 3599)
        assert login.hit("user:1", none).id == codes[0]
        now.move_to(hour_s + 3600)
        assert login.hit("user:1", none).id not in codes


def test_a_refusal_that_is_known_has_the_code_of_its_hour(store: Counting, clock: Clock) -> None:
    hour_s = 500_000 * 3600
    limiter = Limiter(store, clock_ms=clock)
    with time_machine.travel(hour_s - 0.1, tick=False) as now:
        before, now_known = [limiter.hit("user:42", LIMIT) for _ in range(5)][3:]
        now.move_to(hour_s)
        assert before.id == now_known.id != limiter.hit("user:42", LIMIT).id != ""
    assert store.asked == 4


def test_rules_that_refuse_together_have_the_code_of_the_first() -> None:
    def check(rule: str, limit: int, **fields: Any) -> Check:
        return Check(rule, (Window(limit, period_ms=60_000),), (f"{rule}:{{ann}}",), **fields)

    store, first, second = MemoryStore(), check("first", 0), check("second", 0, penalty_ms=1000)

    def codes(*checks: Check) -> list[str]:
        return [part.id for part in reply.decision(checks, store.run(checks, "hit")).parts]

    alone, other = codes(first), codes(second)
    assert codes(check("passes", 9), first, second) == ["", *alone, *alone]
    assert codes(second, first) == [*other, *other] and other != alone
    assert codes(check("shadow", 0, enforce=False), first) == ["", *alone]


def test_many_clients_have_as_many_codes() -> None:
    codes = {reply.refusal_code(f"rw:s:{number}") for number in range(20_000)}
    assert len(codes) > 19_950  # by chance 7 are expected to share one


def test_it_is_believed_for_a_second_and_then_asked_again(store: Counting, clock: Clock) -> None:
    limiter = Limiter(store, clock_ms=clock)
    for _ in range(4):
        limiter.hit("user:42", LIMIT)
    clock.now_ms += 999
    limiter.hit("user:42", LIMIT)
    assert store.asked == 4
    clock.now_ms += 1
    limiter.hit("user:42", LIMIT)
    assert store.asked == 5


def test_a_wait_shorter_than_a_second_ends_on_time(store: Counting, clock: Clock) -> None:
    limiter, short = Limiter(store, clock_ms=clock), [Window(1, period_ms=300, buckets=1)]
    limiter.hit("user:42", short)
    wait_ms = round((limiter.hit("user:42", short).retry_after or 0) * 1000)
    clock.now_ms += wait_ms - 1
    assert not limiter.hit("user:42", short)
    clock.now_ms += 1
    assert limiter.hit("user:42", short)


@pytest.mark.parametrize("edited", [{"penalty_ms": 9000}, {"count_refused": True}], ids=str)
def test_what_a_refusal_does_is_asked_anew_when_it_has_changed(store: Counting, clock: Clock, edited: dict[str, Any]) -> None:
    limiter = Limiter(store, clock_ms=clock)
    for _ in range(4):
        limiter.hit("user:42", LIMIT)
    assert not limiter.hit("user:42", LIMIT, **edited)
    assert store.asked == 5
    assert not limiter.hit("user:42", LIMIT)
    assert store.asked == 5


@pytest.mark.parametrize("give_back", ["refund", "reset"])
def test_a_refund_or_reset_here_acts_at_once(store: Counting, clock: Clock, give_back: str) -> None:
    limiter = Limiter(store, clock_ms=clock)
    for _ in range(5):
        limiter.hit("user:42", LIMIT)
    getattr(limiter, give_back)("user:42", LIMIT)
    assert limiter.hit("user:42", LIMIT)


def test_a_reset_elsewhere_acts_within_a_second(store: Counting, clock: Clock) -> None:
    here, elsewhere = Limiter(store, clock_ms=clock), Limiter(store, clock_ms=clock)
    for _ in range(5):
        here.hit("user:42", LIMIT)
    elsewhere.reset("user:42", LIMIT)
    assert not here.hit("user:42", LIMIT)
    clock.now_ms += 1000
    assert here.hit("user:42", LIMIT)


def test_an_edited_limit_is_not_covered(store: Counting, clock: Clock) -> None:
    limiter = Limiter(store, clock_ms=clock)
    for _ in range(5):
        limiter.hit("user:42", LIMIT)
    assert limiter.hit("user:42", [Window(4, period_ms=60_000)])


def test_force_and_peek_go_past_it(store: Counting, clock: Clock) -> None:
    limiter = Limiter(store, clock_ms=clock)
    for _ in range(5):
        limiter.hit("user:42", LIMIT)
    asked = store.asked
    assert limiter.hit("user:42", LIMIT, force=True).forced
    assert not limiter.peek("user:42", LIMIT)
    assert store.asked == asked + 2


def test_a_wait_that_force_or_a_charge_made_longer_is_asked_for_anew(store: Counting, clock: Clock) -> None:
    limiter = Limiter(store, clock_ms=clock)
    bucket = [Window(3, 60_000, "sliding_log")]
    for _ in range(4):
        limiter.hit("user:42", bucket)
        clock.now_ms += 1000
    for charge in (lambda: limiter.charge("user:42", bucket, 1), lambda: limiter.hit("user:42", bucket, force=True)):
        before = limiter.hit("user:42", bucket).retry_after
        charge()
        after = limiter.hit("user:42", bucket).retry_after
        assert before is not None and after is not None and after > before
        assert after == limiter.peek("user:42", bucket).retry_after


def test_counted_refusals_are_counted_each_time(store: Counting, clock: Clock) -> None:
    limiter = Limiter(store, clock_ms=clock)
    for _ in range(10):
        limiter.hit("user:42", LIMIT, count_refused=True)
    assert store.asked == 10


def test_a_lock_is_believed_no_longer_than_it_lasts(store: Counting, clock: Clock) -> None:
    limiter = Limiter(store, clock_ms=clock)
    for _ in range(4):
        limiter.hit("user:42", LIMIT, penalty_ms=500)
    clock.now_ms += 499
    limiter.hit("user:42", LIMIT, penalty_ms=500)
    assert store.asked == 4
    clock.now_ms += 1
    assert limiter.hit("user:42", LIMIT, penalty_ms=500).retry_after is not None
    assert store.asked == 5


def test_a_clock_that_goes_back_is_asked_about(store: Counting, clock: Clock) -> None:
    limiter = Limiter(store, clock_ms=clock)
    for _ in range(4):
        limiter.hit("user:42", LIMIT)
    clock.now_ms -= 1
    limiter.hit("user:42", LIMIT)
    assert store.asked == 5


def test_a_limiter_that_remembers_decides_as_one_that_does_not(store: Counting, clock: Clock) -> None:
    """Over long random histories of one client, on windows of its own for each of the two."""
    remembering = Limiter(store, clock_ms=clock, prefix="one")
    asking = Limiter(store, clock_ms=clock, prefix="two", believed_ms=0)
    dice = random.Random(7)
    windows = [
        Window(3, period_ms=700, buckets=5),
        Window(5, period_ms=2000, algorithm="sliding_log"),
        Window(9, 5000, "token_bucket"),
    ]
    for _ in range(2000):
        clock.now_ms += dice.choice([0, 0, 1, 5, dice.randrange(100), dice.randrange(1500)])
        told = [limiter.hit("user:42", windows) for limiter in (remembering, asking)]
        assert told[0].allowed == told[1].allowed
        assert told[0].retry_after == told[1].retry_after
        assert [answer[1:4] for answer in told[0].windows if answer.wait_ms] == [
            answer[1:4] for answer in told[1].windows if answer.wait_ms
        ]
    assert store.asked < 3800


class Remote:
    """A server some microseconds away, whose clock shows whole milliseconds and is not this process's."""

    is_async = False

    def __init__(self) -> None:
        self.now_us, self.asked, self._dice = 5_000_000_000, 0, random.Random(31)
        self._store = MemoryStore(clock_ms=lambda: (self.now_us + 1_732_094_855_123_456) // 1000)

    def run(self, *arguments: Any) -> Any:
        self.asked += 1
        self.now_us += self._dice.randrange(2000)
        reply = self._store.run(*arguments)
        self.now_us += self._dice.randrange(2000)
        return reply


def test_who_waits_exactly_as_long_as_a_believed_refusal_says_is_admitted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each time, whichever parts of a millisecond the clocks of server and process are in."""
    remote, dice = Remote(), random.Random(37)
    monkeypatch.setattr(reply, "time", SimpleNamespace(monotonic_ns=lambda: 1000 * remote.now_us, time=time.time))
    limiter, window = Limiter(remote), Window(1, 50, "sliding_log")  # type: ignore[arg-type]
    assert limiter.hit("user:42", window)
    for number in range(120):
        assert not limiter.hit("user:42", window)
        asked = remote.asked
        remote.now_us += dice.randrange(20_000)
        believed = limiter.hit("user:42", window)
        assert (believed.allowed, remote.asked) == (False, asked)
        remote.now_us += round((believed.retry_after or 0) * 1_000_000)
        assert limiter.hit("user:42", window), number


def test_a_long_identity_is_not_kept(store: Counting, clock: Clock) -> None:
    limiter, identity = Limiter(store, clock_ms=clock), "header:x-api-key:" + 100_000 * "x"
    for _ in range(5):
        limiter.hit(identity, LIMIT)
    assert store.asked == 4
    assert not limiter.hit(identity[:-1] + "y", LIMIT, cost=4)
    assert store.asked == 5
    assert len(repr(limiter._refusals.known)) < 10_000
