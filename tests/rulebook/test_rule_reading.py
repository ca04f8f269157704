"""Reading the rules when the database, Redis or the server of the site is not as it should be."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import InterfaceError

from ratewindow import background
from ratewindow.models import RateRule
from ratewindow.rulebook import current, edits, reading

pytestmark = pytest.mark.django_db(transaction=True)


def watch() -> None:
    """What the two threads of a process do three times within `REFRESH`."""
    edits.check_redis()
    edits.reread()


@pytest.fixture
def new_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a process holds that has read nothing yet."""
    current.reset()
    reading.reset()
    edits.reset()


@pytest.fixture
def readings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A line for each time that the rows are read, in whatever thread."""
    seen: list[str] = []
    read = reading.read_rules

    def counting() -> Any:
        seen.append("read")
        return read()

    monkeypatch.setattr(reading, "read_rules", counting)
    monkeypatch.setattr(edits, "_is_in_memory", lambda database: False)
    return seen


def test_a_lost_connection_leaves_the_rules_in_force_too(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    RateRule.objects.define("login", "1/m")

    def lost() -> None:
        raise InterfaceError("connection already closed")

    monkeypatch.setattr(reading, "read_rules", lost)
    reading.reload()
    assert "login" in current.rulebook().by_name
    assert "the rules cannot be read, those held stay in force: connection already closed" in caplog.text


def test_a_reading_that_failed_is_repeated_soon(readings: list[str], new_process: None) -> None:
    watch()
    reading._readings.rules_error = "no such table"
    reading._readings.ended_at_s -= edits.REREAD_ALONE_S + 0.1
    watch()
    watch()
    assert len(readings) == 2


def test_requests_wait_for_the_first_reading_only_once(
    new_process: None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    waits: list[float] = []

    def never(timeout_s: float) -> bool:
        waits.append(timeout_s)
        return False

    monkeypatch.setattr(background, "ensure_running", lambda: None)  # as on a server that runs no threads
    monkeypatch.setattr(current._held.ready, "wait", never)
    assert current.rulebook().by_name == {}
    assert "requests pass: does this server run threads?" in caplog.text
    assert current._held.ready.is_set()
    assert waits == [current.FIRST_READING_S]


def test_a_bad_row_is_told_once_and_again_when_it_says_something_else(caplog: pytest.LogCaptureFixture) -> None:
    rule, _ = RateRule.objects.define("bad", "1/m")
    for key in ("shoe_size", "shoe_size", "hat_size"):
        RateRule.objects.filter(pk=rule.pk).update(key=key)
        reading.reload()
    assert [record.getMessage().partition(": '")[2].partition("'")[0] for record in caplog.records] == ["shoe_size", "hat_size"]


def test_a_row_with_more_limits_than_a_rule_may_have_is_no_rule(caplog: pytest.LogCaptureFixture) -> None:
    rule, _ = RateRule.objects.define("many", ";".join(f"5/{seconds}s" for seconds in range(1, 21)))
    reading.reload()
    assert not caplog.text
    rule.windows.create(limit=5, period=timedelta(minutes=5))  # which no form and no rate would have let in
    reading.reload()
    assert "rule 'many' has 21 limits, of at most 20: give it fewer" in caplog.text
