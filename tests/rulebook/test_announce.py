"""`rules_changed` in the processes that did not edit: each change is told once, and a listener that is busy holds up nothing."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from ratewindow.models import RateRule
from ratewindow.rulebook import announce, current, edits, reading
from ratewindow.signals import rules_changed

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[list[str]]]:
    monkeypatch.setattr(announce, "_changes", announce.Changes())
    told: list[list[str]] = []

    def listen(changed: list[str], **_: Any) -> None:
        told.append(changed)

    rules_changed.connect(listen)
    yield told
    rules_changed.disconnect(listen)


def edit_elsewhere(name: str) -> None:
    """Without a word in this process, whose reading it is that finds out."""
    RateRule.objects.bulk_create([RateRule(name=name)])
    reading._readings.ended_at_s = float("-inf")
    edits.reread()


def test_the_thread_that_reads_the_rows_calls_no_listener(heard: list[list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edits, "_is_in_memory", lambda database: False)
    edit_elsewhere("one")
    edit_elsewhere("two")
    assert set(current.rulebook().by_name) == {"one", "two"}
    assert heard == []
    announce.send_waiting()
    announce.send_waiting()
    assert heard == [["one", "two"]]


def test_what_changes_while_a_listener_is_busy_is_told_when_it_is_done_by_the_thread_that_called_it() -> None:
    told: list[tuple[list[str], str]] = []
    kept, busy, go_on = announce.Changes(), threading.Event(), threading.Event()

    def listen(changed: list[str], **_: Any) -> None:
        told.append((changed, threading.current_thread().name))
        busy.set()
        assert go_on.wait(10)

    rules_changed.connect(listen)
    try:
        kept.add(["one"])
        thread = threading.Thread(target=kept.send, name="busy")
        thread.start()
        assert busy.wait(10)
        kept.add(["two"])
        kept.send()  # returns at once
        kept.add(["three", "two"])
        go_on.set()
        thread.join()
    finally:
        rules_changed.disconnect(listen)
    assert told == [(["one"], "busy"), (["three", "two"], "busy")]
