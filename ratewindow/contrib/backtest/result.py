"""What rules would have done with the requests of a log, and in sentences what the log does not say of them."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from math import inf
from typing import Any

from django.utils.translation import gettext_lazy as _

from ratewindow.contrib.backtest.clients import ClientPeak, Sample
from ratewindow.contrib.backtest.curve import Curve, Suggestion
from ratewindow.contrib.backtest.logs.entry import Entry
from ratewindow.contrib.backtest.logs.log import Log
from ratewindow.rules.rule import Rule

REFUSED = 429


@dataclass(frozen=True)
class Note:
    """One sentence, in the language of whoever reads it: `kind` is a key of `TEXTS`."""

    kind: str
    values: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return str(TEXTS[self.kind]) % {name: str(value) for name, value in self.values.items()}


ON_MISSING = {
    "ip": _("they are counted by address, as the rule says of requests without it"),
    "allow": _("they pass uncounted, as the rule says of requests without it"),
    "refuse": _("they are refused, as the rule says of requests without it"),
}

TEXTS = {
    "people": _(
        "A log does not show how many people stand behind one address, nor what clients would do once they are refused: many "
        "come again later, some at once."
    ),
    "missing": _("Rule %(rule)s: no request of this log has %(key)s; %(holds)s."),
    "login_failed": _(
        "Rule %(rule)s: a log does not say whether a login failed. Every request counts here as one that did, so it would have "
        "refused at most these."
    ),
    "no_status": _("Rule %(rule)s: this log has no statuses, by which the rule counts, so nothing counts."),
    "rate": _("Rule %(rule)s: its rate is an async function of the site, so the rule is left out."),
    "refused_before": _(
        "%(count)s of the requests were answered 429 in this log: a limit held then, and clients may have waited for it."
    ),
    "seconds": _(
        "The log has whole seconds. So each request is decided twice: as if all of a second had come at its beginning, and as "
        "if they had come spread evenly over it."
    ),
    "late": _("%(count)s requests stand in the log far from their place in time, and are decided where they stand."),
    "unordered": _(
        "%(count)s of %(requests)s requests stand in the log far from their place in time, more than one of a hundred. Any "
        "number would be wrong: sort the log by time first."
    ),
    "empty": _("The log has no requests, so nothing is known of these rules."),
    "unmet": _("Rule %(rule)s: it applies to no request of this log. Check its path, route and methods."),
}


class Seen:
    """What all requests that were read have in common, whether they match a rule or not: how far the numbers can be trusted."""

    def __init__(self, whole_seconds: bool) -> None:
        self.whole_seconds = whole_seconds
        self.requests = self._refused_before = 0
        self.first_s, self.last_s, self.has_statuses = inf, -inf, False

    def add(self, entry: Entry) -> None:
        self.requests += 1
        self.first_s, self.last_s = min(self.first_s, entry.at_s), max(self.last_s, entry.at_s)
        self._refused_before += entry.status == REFUSED
        self.has_statuses = self.has_statuses or bool(entry.status)

    @property
    def times(self) -> tuple[datetime, datetime]:
        """Of the first request, and of the last."""
        return datetime.fromtimestamp(self.first_s, UTC), datetime.fromtimestamp(self.last_s, UTC)

    def notes(self) -> Iterator[Note]:
        if self._refused_before:
            yield Note("refused_before", {"count": f"{self._refused_before:,}"})
        if not self.requests:
            yield Note("empty")
        elif self.whole_seconds:
            yield Note("seconds")


@dataclass(frozen=True, order=True)
class Bounds:
    """A number, or the least and the most that it was where whole seconds leave it open."""

    least: int
    most: int

    @classmethod
    def of(cls, counts: Sequence[int]) -> "Bounds":
        return cls(min(counts), max(counts))

    @property
    def is_open(self) -> bool:
        return self.least < self.most


@dataclass(frozen=True)
class Numbers:
    """What one rule did, or all of them together. A rule in shadow would have refused."""

    requests: int  # that matched it
    clients: int  # by their identities
    refused: Bounds
    would_refuse: Bounds
    clients_refused: Bounds  # or would be


class Tally:
    """Adds up the refusals of one rule, or of all together, in each course."""

    def __init__(self, courses: int) -> None:
        self.requests, self.clients = 0, set[str]()
        self._refused, self._would_refuse = [0] * courses, [0] * courses
        self._caught: list[Counter[str]] = [Counter() for _ in range(courses)]  # refusals by client

    def add(self, client: str) -> None:
        self.requests += 1
        self.clients.add(client)

    def refuse(self, course: int, client: str, enforced: bool = True, requests: int = 1) -> None:
        (self._refused if enforced else self._would_refuse)[course] += requests
        if requests:
            self._caught[course][client] += requests

    def most_refused(self, most: int) -> dict[str, Bounds]:
        """The clients that were refused most, and how often each of them was."""
        return {name: Bounds.of([caught[name] for caught in self._caught]) for name, _ in self._caught[-1].most_common(most)}

    def numbers(self, requests: int, clients: int) -> Numbers:
        return Numbers(
            requests=requests,
            clients=clients,
            refused=Bounds.of(self._refused),
            would_refuse=Bounds.of(self._would_refuse),
            clients_refused=Bounds.of([len(caught) for caught in self._caught]),
        )


@dataclass(frozen=True)
class OfRule:
    """One rule of the result; None for blocked clients who matched no enforced rule."""

    name: str
    rule: Rule | None
    numbers: Numbers

    @property
    def mode(self) -> str:
        return self.rule.mode if self.rule is not None else "enforce"

    @property
    def rate(self) -> str:
        return "; ".join(window.text for window in self.rule.windows) if self.rule is not None else ""


@dataclass(frozen=True)
class Caught:
    """A client that was refused, or would have been, with what it asked for."""

    client: str  # identity
    name: str  # as the log has it, where that is a host name; else empty
    requests: int
    refused: Bounds
    did: Sample


@dataclass(frozen=True)
class Busy:
    """A client with one of the highest peaks."""

    peak: ClientPeak
    name: str  # as the log has it, where that is a host name; else empty
    did: Sample


@dataclass(frozen=True)
class OfPeriod:
    """A limit of the rule, what other limits would have done in its period, and which it should be."""

    limit: int
    curve: Curve
    suggestion: Suggestion
    busiest: Sequence[Busy]


@dataclass(frozen=True)
class Result:
    """The numbers of all rules together, of each, and of the clients that were refused most."""

    log: Log
    seen: Seen
    total: Numbers
    rules: Sequence[OfRule] = ()
    caught: Sequence[Caught] = ()
    notes: Sequence[Note] = ()
    periods: Sequence[OfPeriod] = ()  # of a rule alone, if they were asked for, the shortest first
    reason: Note | None = None  # why no more is said than how many requests and clients there were
