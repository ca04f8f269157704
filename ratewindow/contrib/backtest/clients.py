"""The clients of a log, and all their requests: when each came and what it was, in 24 bytes. `run.py` fills `Clients`, and shows
what those refused have asked for (`Clients.sample`); `curve.py` draws from their peaks how many each limit would refuse.

A log of whole seconds does not say when within its second a request came. So each request has two times, the second's start and
its place if the requests of that second are spread evenly (`Moment` in `requests.py`), and the log is decided twice, once by
each: these are the two courses, and what they disagree on is shown as a range.
"""

from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

from ratewindow.contrib.backtest.logs.entry import Entry

MOST_KINDS = 50_000  # of requests that are told apart; of those beyond only the status is known
MOST_PATHS, MOST_AGENTS, MOST_STATUSES = 5, 3, 10  # of a client
LONGEST = 200  # characters of a path or an agent

Name = TypeVar("Name", str, int)


class Kind(NamedTuple):
    """What requests have in common."""

    path: str  # "POST /login/", without the query; empty if it is not known
    status: int
    agent: str
    has_user: bool


class Sample(NamedTuple):
    """What a client asked for and was answered, most frequent first."""

    paths: Mapping[str, int]
    statuses: Mapping[int, int]
    agents: Mapping[str, int]


class ClientPeak(NamedTuple):
    """A client with the most units that it took in any window of a period. A ``sliding_log`` refuses it exactly if that is above
    the limit."""

    client: str  # identity
    peak: int
    requests: int  # that the rule counts
    likely_innocent: bool
    times_ms: Sequence[int] = ()  # of these requests, in the first course; none if the peak is 1, which only a limit of 0 refuses


class Clients:
    """All clients of a log that is decided in one course, or in two."""

    def __init__(self, courses: int) -> None:
        self._courses = courses
        # By client, three numbers for each request: its two times, and the place of its kind in `_kinds`.
        self._requests: dict[str, array[int]] = defaultdict(lambda: array("q"))
        self._numbers: dict[Kind, int] = {}
        self._kinds: list[Kind] = []
        self.total = 0  # requests

    def __len__(self) -> int:
        return len(self._requests)

    def add(self, client: str, times_ms: Sequence[int], entry: Entry) -> None:
        self._requests[client].extend((times_ms[0], times_ms[-1], self._number(entry)))
        self.total += 1

    def _number(self, entry: Entry) -> int:
        path = f"{entry.method} {entry.target.partition('?')[0]}"[:LONGEST]
        kind = Kind(path, entry.status, entry.agent[:LONGEST], bool(entry.user))
        if kind not in self._numbers and len(self._numbers) >= MOST_KINDS:
            kind = kind._replace(path="", agent="")
        number = self._numbers.setdefault(kind, len(self._numbers))
        if number == len(self._kinds):
            self._kinds.append(kind)
        return number

    def times_ms(self, client: str) -> Sequence[Sequence[int]]:
        """When its requests came, in order, by each course."""
        return [self._requests[client][course::3] for course in range(self._courses)]

    def kinds(self, client: str) -> Sequence[Kind]:
        """What its requests were, in the same order."""
        return [self._kinds[number] for number in self._requests[client][2::3]]

    def sample(self, client: str) -> Sample:
        kinds = self.kinds(client)
        return Sample(
            _most((kind.path for kind in kinds), MOST_PATHS),
            _most((kind.status for kind in kinds), MOST_STATUSES),
            _most((kind.agent for kind in kinds), MOST_AGENTS),
        )

    def peaks(self, period_ms: int, cost: int, counts: Callable[[int], bool]) -> Iterator[ClientPeak]:
        """Each client with requests that count, by the status of their answers. Likely innocent are those who got only successful
        answers, or were mostly signed in."""
        for client in self._requests:
            requests = zip(self.times_ms(client)[0], self.kinds(client), strict=True)
            counted = [(at_ms, kind) for at_ms, kind in requests if counts(kind.status)]
            if counted:
                times_ms = array("q", [at_ms for at_ms, _ in counted])
                peak = cost * fullest(times_ms, period_ms)
                is_user = 2 * sum(kind.has_user for _, kind in counted) > len(counted)
                is_innocent = is_user or all(100 <= kind.status < 400 for _, kind in counted)
                yield ClientPeak(client, peak, len(counted), is_innocent, times_ms if peak > 1 else ())


def fullest(times_ms: Sequence[int], period_ms: int) -> int:
    """The most of these times, in order, that lie in any window of the period. It begins at any moment, not at a full minute."""
    most = first = 0
    for last, at_ms in enumerate(times_ms):
        while times_ms[first] <= at_ms - period_ms:
            first += 1
        most = max(most, last - first + 1)
    return most


def refused(times_ms: Sequence[int], period_ms: int, limit: int) -> int:
    """How many of the requests at these times a ``sliding_log`` of this limit refuses, if each costs 1."""
    admitted: list[int] = []
    for at_ms in times_ms:
        if len(admitted) < limit or admitted[-limit] <= at_ms - period_ms:
            admitted.append(at_ms)
    return len(times_ms) - len(admitted)


def _most(names: Iterable[Name], most: int) -> dict[Name, int]:
    """The most frequent of those that are known."""
    return dict(Counter(filter(None, names)).most_common(most))
