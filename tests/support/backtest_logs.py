"""Logs for backtests: a real one, and made ones."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from ratewindow.limiter.types import Check
from ratewindow.operations.backtest.course import Course, Judged
from ratewindow.operations.backtest.moments import Moment
from ratewindow.operations.backtest.run import _Backtest
from ratewindow.operations.logs.entry import Entry
from ratewindow.operations.logs.log import Log, open_logs

NASA = Path(__file__).with_name("nasa_1995_07_01.log.gz")  # of the Internet Traffic Archive: the first 4,000 lines of that month
START_S = 1_790_000_000.0


def nasa() -> Log:
    return open_logs([NASA])


class Logged(Log):
    """A log of these requests."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        super().__init__([])
        self._entries = list(entries)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries)


def asked(at_s: float, client: str = "203.0.113.9", target: str = "/", method: str = "GET", **values: object) -> Entry:
    """A request so many seconds after the start of a log."""
    return Entry(START_S + at_s, client, method, target, **{"status": 200, **values})


class Heard:
    """Whether each request is refused, as each course of a backtest decides it; one that no rule meets passes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, entries: Sequence[Entry]) -> None:
        self._entries = entries
        self._refused: dict[int, set[int]] = {}  # ids of requests by that of the course
        self._now: Entry | None = None
        take, judge, refuses = _Backtest._take, Course.judge, Course.refuses

        def taking(backtest: _Backtest, moment: Moment) -> None:
            self._now = moment.entry
            take(backtest, moment)

        def refusing(course: Course, check: Check, now_ms: int) -> bool:
            found = refuses(course, check, now_ms)
            refused = self._refused.setdefault(id(course), set())
            if found and check.enforce:
                refused.add(id(self._now))
            return found

        def judging(course: Course, *arguments: Any) -> Judged:
            judged = judge(course, *arguments)
            refused = self._refused.setdefault(id(course), set())
            if judged.refused:
                refused.add(id(self._now))
            return judged

        monkeypatch.setattr(_Backtest, "_take", taking)
        monkeypatch.setattr(Course, "refuses", refusing)
        monkeypatch.setattr(Course, "judge", judging)

    def __getitem__(self, course: int) -> list[bool]:
        refused = list(self._refused.values())[course]
        return [id(entry) in refused for entry in self._entries]
