"""Faults that come and go: when they are an outage, how a server is tried again, and what is told of it."""

from collections.abc import Callable

import pytest
from redis.exceptions import NoPermissionError, ResponseError

from ratewindow.store import breaker
from ratewindow.store.breaker import (
    FAILURES_TO_OPEN,
    HEALED,
    LAST,
    MOST_PAUSE_S,
    MOST_PROOF,
    PART,
    PROBE_S,
    QUIET_S,
    STALE_S,
    Breaker,
)


class Site:
    """A breaker, and the time as a test has it."""

    def __init__(self) -> None:
        self.now_s = 1000.0
        self.answers_probes = True
        self.breaker = Breaker(self._probe, lambda: "requests pass", clock_s=lambda: self.now_s)

    def _probe(self) -> None:
        if not self.answers_probes:
            raise TimeoutError

    def fail(self, error: Callable[[], Exception] = TimeoutError, times: int = FAILURES_TO_OPEN) -> None:
        for _ in range(times):
            self.breaker.failed(error())

    def answer(self, times: int = 1) -> None:
        for _ in range(times):
            self.breaker.succeeded()

    def try_again(self) -> float:
        """Look as often as housekeeping does until requests may ask; how long that took."""
        began_s = self.now_s
        while self.breaker.open:
            self.now_s += PROBE_S
            self.breaker.look()
        return self.now_s - began_s


@pytest.fixture
def site() -> Site:
    return Site()


def levels(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.levelname for record in caplog.records]


def test_a_quarter_of_the_last_calls_without_an_answer_is_an_outage(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(PART - 1):
        site.fail(times=1)
        site.answer(LAST // PART - 1)
    assert not site.breaker.open and levels(caplog) == []
    site.fail(times=1)
    assert site.breaker.open and levels(caplog) == ["ERROR"]


def test_fewer_than_that_are_hiccups(site: Site) -> None:
    for _ in range(100):
        site.fail(times=1)
        site.answer(LAST // PART)
    assert not site.breaker.open


def test_hiccups_of_long_ago_say_nothing_about_now(site: Site) -> None:
    for _ in range(PART * 3):
        site.fail(times=1)
        site.answer()
        site.now_s += STALE_S + 1
    assert not site.breaker.open


def test_where_nothing_has_failed_an_answer_costs_one_look(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    site.fail(times=1)
    site.answer(LAST)
    monkeypatch.setattr(site.breaker, "_lock", None)  # which noting an answer takes
    site.answer(10)


def test_errors_that_are_answered_among_others_that_work_are_no_outage(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(100):
        site.fail(lambda: NoPermissionError("no permissions"), times=FAILURES_TO_OPEN - 1)
        site.answer()
    assert not site.breaker.open and levels(caplog) == []


def test_the_end_is_told_once_a_request_was_answered(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    site.fail()
    site.try_again()
    assert not site.breaker.open and site.breaker.state.open
    assert levels(caplog) == ["ERROR"]
    site.answer()
    assert not site.breaker.state.open
    assert levels(caplog) == ["ERROR", "WARNING"]


def test_or_soon_if_nobody_asks(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    site.fail()
    site.try_again()
    site.now_s += QUIET_S
    site.breaker.look()
    assert not site.breaker.state.open
    assert levels(caplog) == ["ERROR", "WARNING"]


def test_a_server_that_answers_probes_and_nobody_else_is_told_once_and_tried_less_and_less_often(
    site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    site.fail()
    pauses_s = []
    for _ in range(8):
        pauses_s.append(site.try_again())
        site.fail(times=FAILURES_TO_OPEN if len(pauses_s) == 1 else 1)
        assert site.breaker.open and site.breaker.state.open
    assert pauses_s == sorted(pauses_s) and pauses_s[0] <= PROBE_S
    assert MOST_PAUSE_S <= pauses_s[-1] <= 2.0 - PROBE_S  # back within two seconds
    assert levels(caplog) == ["ERROR"]


def test_a_server_that_answers_every_second_call_is_told_once(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(1000):
        site.try_again()
        site.fail(times=1)
        if not site.breaker.open:
            site.answer()
    assert levels(caplog) == ["ERROR"]


def test_after_a_relapse_more_answers_are_needed_and_then_all_is_forgotten(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    site.fail()
    site.try_again()
    site.fail()
    site.try_again()
    site.answer(HEALED - 1)
    assert site.breaker.state.open
    site.answer()
    assert not site.breaker.state.open
    assert levels(caplog) == ["ERROR", "WARNING"]
    site.fail()
    assert site.try_again() <= PROBE_S
    site.answer()
    assert levels(caplog) == ["ERROR", "WARNING"] * 2


def test_what_has_to_be_shown_is_bounded() -> None:
    for relapses in range(20):
        trial = breaker.Trial(relapses, 0.0)
        for _ in range(MOST_PROOF):
            trial.add_answer()
        assert trial.passed


def test_an_error_that_some_calls_are_answered_keeps_nobody_else_from_asking(
    site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    """A right that the script of one rule needs: the probe does without, and so do other rules."""

    def denied() -> Exception:
        return NoPermissionError("no permissions to run 'rpush'")

    site.fail(denied)
    site.try_again()
    for _ in range(50):
        site.fail(denied)
        assert not site.breaker.open
        site.answer()
    assert levels(caplog) == ["ERROR", "WARNING"]
    site.fail()  # that is something else
    assert site.breaker.open
    site.try_again()
    for _ in range(2 * HEALED):
        site.fail(denied, times=1)
        site.answer()
    assert not site.breaker.state.open


def test_while_every_call_is_answered_by_an_error_nothing_is_said_to_be_well(
    site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    site.fail(lambda: ResponseError("upstream failure"))
    for _ in range(100):
        site.try_again()
        site.fail(lambda: ResponseError("upstream failure"), times=1)
        site.now_s += 1.0
        site.breaker.look()
        assert site.breaker.state.open
    assert levels(caplog) == ["ERROR"]


def test_an_error_that_the_probe_was_answered_too_opens_it_again_when_it_comes_back(site: Site) -> None:
    def full() -> Exception:
        return ResponseError("OOM command not allowed")

    site.fail(full)
    site.answers_probes = False
    site.now_s += PROBE_S
    site.breaker.look()
    site.answers_probes = True
    site.try_again()
    site.answer()
    site.fail(full)
    assert site.breaker.open
    site.answers_probes = False
    site.now_s += 2 * PROBE_S
    site.breaker.look()
    assert site.breaker.open


def test_a_suspicion_that_is_not_met_again_soon_is_dropped(site: Site) -> None:
    def denied() -> Exception:
        return NoPermissionError("no permissions")

    site.fail(denied)
    site.try_again()
    site.answer(HEALED)
    site.now_s += breaker.SUSPECTED_S + 1
    site.fail(denied)
    assert site.breaker.open


def test_a_server_that_is_forgotten_while_it_is_probed_has_no_trial(site: Site) -> None:
    breaker = Breaker(lambda: breaker.reset(), lambda: "requests pass")
    for _ in range(FAILURES_TO_OPEN):
        breaker.failed(TimeoutError())
    breaker.look()
    assert not breaker.open and not breaker.state.open
