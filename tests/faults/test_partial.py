"""Faults that spare some decisions, or that are errors nobody has heard of: they are seen like any other."""

import pytest
from redis.exceptions import ResponseError

import ratewindow
from ratewindow.health import overview, processes
from ratewindow.limiter.types import Window
from ratewindow.rulebook import current
from ratewindow.rulebook.current import Rulebook
from ratewindow.rules.rule import Rule
from ratewindow.store import outage, stores
from ratewindow.store.breaker import FAILURES_TO_OPEN, LAST, PART
from ratewindow.store.outage import FEW
from tests.faults.injectors import OwnServer
from tests.faults.proxy import Proxy
from tests.faults.site import LIMIT, Answer, Visitor, probe, site_on


def said(caplog: pytest.LogCaptureFixture, words: str) -> int:
    """How many lines of the log have these words."""
    return sum(words in record.getMessage() for record in caplog.records if record.name == "ratewindow")


@pytest.mark.pace
def test_a_way_that_loses_every_second_answer_is_soon_not_waited_for(
    proxy: Proxy, visitor: Visitor, caplog: pytest.LogCaptureFixture
) -> None:
    with site_on(f"redis://127.0.0.1:{proxy.port}/0", "100ms"):
        visitor.ask()  # from now on the server knows the script
        with proxy.every_second_reply_lost():
            causes = [answer.cause for number in range(LAST) for answer in visitor.ask(client=str(number))]
            assert outage.breaker.open
            assert causes[: 2 * PART].count("") >= PART - 1
            assert set(causes[2 * PART :]) == {"store:timeout"}
        assert overview.status()["summary"].startswith("Redis unavailable (timeout) since")
    assert said(caplog, "does not answer") == said(caplog, "some decisions about faults fail (timeout)") == 1


@pytest.mark.parametrize("answer", [b"-ERR upstream failure\r\n", b"-DENIED Redis is running in protected mode\r\n"])
def test_an_error_that_nobody_has_heard_of_is_a_fault_of_the_server(
    proxy: Proxy, visitor: Visitor, caplog: pytest.LogCaptureFixture, answer: bytes
) -> None:
    with site_on(f"redis://127.0.0.1:{proxy.port}/0"):
        with proxy.answers(answer):
            visitor.ask(FAILURES_TO_OPEN)
            probe()
            assert outage.breaker.open
            calls = proxy.calls
            visitor.ask(5)
            assert proxy.calls == calls
            assert not overview.status()["ok"]
        assert said(caplog, "does not answer") == 1


def test_a_database_that_is_not_there_is_asked_for_no_longer_than_any_fault(server: OwnServer, visitor: Visitor) -> None:
    with site_on(server.url.removesuffix("0") + "99"):
        assert visitor.ask(FAILURES_TO_OPEN) == [Answer(200, "store:database")] * FAILURES_TO_OPEN
        assert outage.breaker.open


def test_a_rule_whose_script_lacks_a_right_is_told_and_the_others_go_on(
    server: OwnServer, visitor: Visitor, caplog: pytest.LogCaptureFixture
) -> None:
    server.tell("ACL", "SETUSER", "default", "-@list")
    with site_on(server.url, "5s"):
        current._held.book = Rulebook([Rule("log", (Window(5, 3_600_000, "sliding_log"),))])
        for _ in range(3):
            told = [ratewindow.hit("log", "user:1").cause for _ in range(FAILURES_TO_OPEN)]
            assert told == ["store:noperm"] * FAILURES_TO_OPEN
            probe()
            assert visitor.ask() == [Answer(200, "")]
        told_state = overview.status()
        assert not told_state["ok"]
        assert "decisions of the last minute were made without Redis (noperm" in told_state["summary"]
        assert visitor.admitted() == LIMIT - 3
    assert said(caplog, "some decisions about log fail (noperm)") == 1


def test_a_user_who_may_not_touch_states_is_no_server_that_comes_and_goes(
    server: OwnServer, visitor: Visitor, caplog: pytest.LogCaptureFixture
) -> None:
    server.tell("ACL", "SETUSER", "limits", "reset", "on", ">secret", "~rw:{*", "~rw:token", "~rw:probe*", "+@all")
    with site_on(server.url.replace("//", "//limits:secret@"), "5s"):
        for _ in range(5):
            assert visitor.ask(FAILURES_TO_OPEN) == [Answer(200, "store:noperm")] * FAILURES_TO_OPEN
            probe()
        assert outage.breaker.open
    assert said(caplog, "does not answer") == 1 and said(caplog, "answers again") == 0


def test_a_single_failure_is_a_warning_and_some_that_come_again_a_problem(
    monkeypatch: pytest.MonkeyPatch, server: OwnServer, visitor: Visitor, caplog: pytest.LogCaptureFixture
) -> None:
    with site_on(server.url, "5s"):
        store = stores.store()
        run = store.run

        def failing(checks: object, what: object) -> object:
            if checks[0].rule == "broken":  # type: ignore[index]
                raise ResponseError("user_script:1: no such thing")
            return run(checks, what)  # type: ignore[arg-type]

        monkeypatch.setattr(store, "run", failing)
        processes.reset()
        current._held.book = Rulebook([Rule("broken", (Window(5, 3_600_000),))])
        assert overview.status()["warnings"] == []
        for number in range(1, FEW + 1):
            visitor.ask(client=str(number))
            ratewindow.hit("broken", "user:1")
            told = overview.status()
            verb = "was" if number == 1 else "were"
            words = f"{number} of {2 * number} decisions of the last minute {verb} made without Redis (script {number}): "
            assert words + "requests pass uncounted." in (told["problems"] or told["warnings"])
            assert told["ok"] is (number < FEW)
    assert said(caplog, "some decisions about broken fail (script)") == 1
