"""The time that headers name: constant while units are charged, and one after which there is room."""

import time
from itertools import permutations
from typing import Any

import pytest
from django.conf import settings
from django.http import HttpResponse
from django.test import override_settings

from ratewindow import ratelimit
from ratewindow.limiter import Limiter, MemoryStore
from ratewindow.limiter.types import Window, WindowAnswer
from ratewindow.request import headers
from ratewindow.testing import override_rules
from tests.support.clock import Clock
from tests.support.doors import decorated, get, plain
from tests.support.limit_headers import of_families, passed, written

pytestmark = pytest.mark.django_db(transaction=True)

is_async = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])


def test_reset_is_constant_over_a_burst() -> None:
    view = decorated(False, "burst", "5/m")
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "REDIS": "memory://"}):
        resets = {int(get(view)["X-RateLimit-Reset"]) for _ in range(7)}
    assert max(resets) - min(resets) <= 1  # calls take a part of a millisecond, which may be the last of a second
    assert 58 <= resets.pop() - time.time() <= 62


@pytest.mark.parametrize("period_ms", [1000, 7000, 10_000, 60_000, 61_007, 3_600_000])
def test_it_is_constant_however_long_each_call_takes_and_whatever_the_clocks_differ(period_ms: int) -> None:
    """With sixty buckets of 167 ms, units leave at no whole second; a call reaches the server so many milliseconds later."""
    window = Window(200, period_ms)
    width_ms = -(-period_ms // 60)
    began_ms = 1_750_000_000_000 // width_ms * width_ms
    for bucket in range(100):
        leaves_ms = began_ms + bucket * width_ms - 1 + period_ms
        asked_ms, late_ms = leaves_ms - period_ms + width_ms // 3, min(60, width_ms // 2 - 1)
        told = set()
        for later_ms in range(-late_ms, late_ms + 1, 3):
            reset_ms = leaves_ms - asked_ms - later_ms
            answer = WindowAnswer(window, 3, 0, reset_ms, leaves_ms - period_ms)
            decision = passed("api", answer, at_s=asked_ms / 1000, window=window.text)
            told.add(dict(written(decision).items())["X-RateLimit-Reset"])
        assert told == {str(-(-leaves_ms // 1000))}


@pytest.mark.parametrize("rate", ["200/10s", "200/7s", "200/m"])
def test_it_is_constant_over_a_burst_on_a_server_too(rate: str) -> None:
    view = decorated(False, "burst.of.20", rate)
    assert len({get(view)["X-RateLimit-Reset"] for _ in range(25)}) == 1


@pytest.mark.parametrize("late_ms", [0, 1, 60, 600])
def test_where_units_leave_at_any_time_it_is_constant_while_they_are_charged(late_ms: int) -> None:
    """By the time of the charge, which is the server's; a clock that is not near this process's is not believed."""
    began_ms = 1_750_000_000_000
    for asked_ms in range(began_ms, began_ms + 2000, 7):
        charged_at_ms = asked_ms + late_ms
        for algorithm in ("sliding_window", "sliding_log"):
            window = Window(5, 60_000, algorithm)
            answer = WindowAnswer(window, 3, 0, began_ms + 59_001 - charged_at_ms, charged_at_ms)
            decision = passed("api", answer, at_s=asked_ms / 1000, window=window.text)
            assert dict(written(decision).items())["X-RateLimit-Reset"] == "1750000060"
    far = passed("api", WindowAnswer(window, 3, 0, 60_000, began_ms + 5000), at_s=began_ms / 1000, window=window.text)
    assert dict(written(far).items())["X-RateLimit-Reset"] == "1750000060"


@pytest.mark.parametrize("algorithm", ["token_bucket", "leaky_bucket"])
def test_it_is_constant_over_a_burst_of_a_bucket_too(algorithm: str) -> None:
    """Twenty of a hundred a minute, at 20 ms each: within the six tenths of a second in which one unit drains."""
    clock, resets = Clock(1_750_000_029_000), set()
    limiter = Limiter(MemoryStore(), clock_ms=clock)
    for _ in range(20):
        decision = limiter.hit("user:42", [Window(100, 60_000, algorithm, burst=100)])
        decision.at_s = clock.now_ms / 1000
        resets.add(of_families(decision, "x-ratelimit")["X-RateLimit-Reset"])
        clock.now_ms += 20
    assert resets == {"1750000030"}


def test_a_window_that_begins_with_the_clock_ends_with_it_whatever_the_clocks_differ() -> None:
    hour = Window(5, 3_600_000, "fixed_window", aligned_to="hour")
    for late_ms in (-300, -1, 0, 1, 300):
        answer = WindowAnswer(hour, 3, 0, 3_599_000 - late_ms)
        assert written(passed("api", answer, at_s=1_750_000_001.0, window=hour.text))["X-RateLimit-Reset"] == "1750003600"


def test_a_lock_ends_when_it_ends() -> None:
    locked = passed("api", WindowAnswer(Window(5, 3_600_000), 0, 0, 0), reset_after=90.25, reason="penalty", window="5/h")
    assert written(locked)["X-RateLimit-Reset"] == str(1_750_000_000 + 91)


@is_async
def test_who_waits_until_reset_finds_room(is_async: bool) -> None:
    view = decorated(is_async, "room", "1/2s")
    get(view)
    response = get(view)
    assert int(response["X-RateLimit-Reset"]) >= time.time() + float(response["Retry-After"]) - 1.5


# A thousand are counted by buckets of one, of six or of nearly nine minutes; five by the time of each.
HOUR_MS = 3_600_000
MANY, COARSE, ODD, FEW = (*(Window(1000, HOUR_MS, buckets=buckets) for buckets in (60, 10, 7)), Window(5, HOUR_MS))


@pytest.mark.parametrize(("before", "after"), list(permutations((MANY, COARSE, ODD, FEW), 2)))
def test_after_an_edit_it_is_not_before_the_wait_and_not_a_second_later(before: Window, after: Window) -> None:
    """Of buckets, or across the border of exactness: what counts leaves as it was counted until the next charge."""
    for began_ms in range(1_750_000_000_000, 1_750_000_000_000 + HOUR_MS, 77_777):
        clock = Clock(began_ms)
        limiter = Limiter(MemoryStore(), clock_ms=clock)
        limiter.charge("user:42", [before], before.limit)
        clock.now_ms += 777_777
        for decision in (limiter.hit("user:42", [after], after.limit), limiter.peek("user:42", [after], after.limit)):
            assert not decision.allowed and decision.retry_after
            decision.at_s = clock.now_ms / 1000
            reset_s = int(of_families(decision, "x-ratelimit")["X-RateLimit-Reset"])
            assert 0 <= reset_s - decision.at_s - decision.retry_after < 1


def test_none_is_before_a_retry_after_that_a_door_outside_has_made_longer() -> None:
    refused = passed("api", WindowAnswer(MANY, 0, 5000, 5000), retry_after=5.0, allowed=False, window=MANY.text)
    response = HttpResponse(headers={"Retry-After": "90"})
    headers.write(response, refused, ("x-ratelimit", "ratelimit-draft-6"))
    assert (response["X-RateLimit-Reset"], response["RateLimit-Reset"]) == ("1750000090", "90")


def test_no_time_is_named_that_is_later_than_a_refused_client_may_come() -> None:
    view: Any = ratelimit("dear", "10/m", cost=lambda request: int(request.GET["cost"]))(plain(False))
    with override_rules(dear="10/m") as rules:
        get(view, "/?cost=3")
        rules.travel("30s")
        response = get(view, "/?cost=8")
    assert response["Retry-After"] in ("30", "31")
    assert response["RateLimit"] == '"dear";r=7'
