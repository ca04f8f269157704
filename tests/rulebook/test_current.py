"""The rules that this process holds, before and after the first reading."""

import pytest

from ratewindow import background
from ratewindow.rulebook import current
from ratewindow.rulebook.current import Rulebook
from ratewindow.rules.rule import Rule


def test_requests_wait_for_the_first_reading_only_once(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(current, "_held", current._Held())
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


def test_a_reading_that_began_earlier_replaces_no_newer_one() -> None:
    new, old = Rulebook([Rule("new", ())]), Rulebook([Rule("old", ())])
    assert current.hold(new, 2)[1] is new
    assert current.hold(old, 1) == (new, new)


async def test_in_an_event_loop_the_first_reading_is_waited_for_in_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(current, "_held", current._Held())
    current.stop_waiting()
    assert (await current.arulebook()).by_name == {}
