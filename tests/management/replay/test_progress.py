"""The progress of a replay."""

import io
from collections import Counter

import pytest

from ratewindow.management import progress
from ratewindow.management.progress import LINE_EVERY_S
from ratewindow.management.replay.progress import Progress
from ratewindow.management.replay.sending import Outcome

HALF = Outcome(Counter({200: 40, 429: 10}))


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def test_a_terminal_has_a_bar_that_is_drawn_again(clock: list[float]) -> None:
    stream = Terminal()
    shown = Progress(stream, 100)
    clock[0] += 5
    shown(HALF)
    shown.end(HALF)
    line = "████████████░░░░░░░░░░░░  50%  50 of 100  10 a second  429: 10"
    assert stream.getvalue() == f"\r{line}\x1b[K" * 2 + "\n"


def test_elsewhere_a_line_is_written_now_and_then(clock: list[float]) -> None:
    stream = io.StringIO()
    shown = Progress(stream, 100)
    shown(HALF)
    clock[0] += LINE_EVERY_S
    shown(HALF)
    shown(HALF)
    shown.end(HALF)
    assert stream.getvalue() == " 50%  50 of 100  5 a second  429: 10\n"
