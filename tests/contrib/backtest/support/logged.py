"""Logs for backtests: a real one, and made ones."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from ratewindow.contrib.backtest import run
from ratewindow.contrib.backtest.clients import Clients
from ratewindow.contrib.backtest.deciding import Course
from ratewindow.contrib.backtest.logs.entry import Entry
from ratewindow.contrib.backtest.logs.log import Log, open_logs
from ratewindow.contrib.backtest.requests import Moment
from ratewindow.contrib.backtest.run import _Backtest
from ratewindow.limiter.types import Check

NASA = Path(__file__).with_name("nasa_1995_07_01.log.gz")  # of the Internet Traffic Archive: the first 4,000 lines of that month
START_S = 1_790_000_000.0


def nasa() -> Log:
    return open_logs([NASA])


class Logged(Log):
    """A log of these requests."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        super().__init__([])
        self._requests = list(entries)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._requests)


def asked(at_s: float, client: str = "203.0.113.9", target: str = "/", method: str = "GET", **values: object) -> Entry:
    """A request so many seconds after the start of a log."""
    return Entry(START_S + at_s, client, method, target, **{"status": 200, **values})


class Heard:
    """Whether each request is refused, as each course of a backtest decides it; one that no rule meets passes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, entries: Sequence[Entry]) -> None:
        self._entries = entries
        self._refused: tuple[set[int], set[int]] = (set(), set())  # ids of requests
        self._of: dict[str, list[Entry]] = {}  # the requests of each client
        self._decided: Counter[str] = Counter()
        self._courses: list[Course] = []
        self._now: Entry | None = None
        take, judge, add, refusals = _Backtest._take, Course.judge, Clients.add, run.refusals

        def taking(backtest: _Backtest, moment: Moment) -> None:
            self._now = moment.entry
            take(backtest, moment)

        def adding(clients: Clients, client: str, times_ms: Any, entry: Entry, *more: Any) -> None:
            self._of.setdefault(client, []).append(entry)
            add(clients, client, times_ms, entry, *more)

        def refusing(check: Check, times_ms: Sequence[int]) -> list[bool]:
            decided = refusals(check, times_ms)
            course = self._decided[check.identity]
            self._decided[check.identity] += 1
            refused = zip(self._of[check.identity], decided, strict=True)
            self._refused[course].update(id(entry) for entry, is_refused in refused if is_refused and check.enforce)
            return decided

        def judging(course: Course, *arguments: Any) -> Any:
            parts, refused = judge(course, *arguments)
            self._courses += [course] if course not in self._courses else []
            if refused:
                self._refused[self._courses.index(course)].add(id(self._now))
            return parts, refused

        monkeypatch.setattr(_Backtest, "_take", taking)
        monkeypatch.setattr(Clients, "add", adding)
        monkeypatch.setattr(run, "refusals", refusing)
        monkeypatch.setattr(Course, "judge", judging)

    def __getitem__(self, course: int) -> list[bool]:
        return [id(entry) in self._refused[course] for entry in self._entries]
