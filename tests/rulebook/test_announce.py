"""`rules_changed` in the processes that did not edit: each change is told once, and a listener that is busy holds up nothing."""

from collections.abc import Iterator
from typing import Any

import pytest

from ratewindow.models import RateRule
from ratewindow.rulebook import current, edits, reading
from ratewindow.signals import rules_changed

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def heard() -> Iterator[list[list[str]]]:
    reading.changed.clear()
    told: list[list[str]] = []

    def listen(changed: list[str], **_: Any) -> None:
        told.append(changed)

    rules_changed.connect(listen)
    yield told
    rules_changed.disconnect(listen)


def edit_elsewhere(name: str) -> None:
    """Without a word in this process, whose reading it is that finds out."""
    RateRule.objects.bulk_create([RateRule(name=name)])
    reading._progress.ended_at_s = float("-inf")
    edits.reread()


def test_the_thread_that_reads_the_rows_calls_no_listener(heard: list[list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edits, "_is_in_memory", lambda database: False)
    edit_elsewhere("one")
    edit_elsewhere("two")
    assert set(current.rulebook().by_name) == {"one", "two"}
    assert heard == []
    reading.send_changes_apart()
    reading.send_changes_apart()
    assert heard == [["one", "two"]]
