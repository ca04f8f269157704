"""Logs for backtests: a real one, and made ones."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from ratewindow.operations.backtest.course import Course
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
    """The decisions of each course, in the order in which they were made: whether each request was refused."""

    def __init__(self, monkeypatch) -> None:
        self.courses: dict[int, list[bool]] = {}
        judge = Course.judge

        def hearing(course, *arguments):
            judged = judge(course, *arguments)
            self.courses.setdefault(id(course), []).append(judged.refused)
            return judged

        monkeypatch.setattr(Course, "judge", hearing)

    @property
    def start(self) -> list[bool]:
        return next(iter(self.courses.values()))

    @property
    def spread(self) -> list[bool]:
        return list(self.courses.values())[-1]
