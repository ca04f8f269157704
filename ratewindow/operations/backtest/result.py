"""What rules would have done with the requests of a log."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ratewindow.operations.backtest.curve import Curve, curve_of
from ratewindow.operations.backtest.notes import Note
from ratewindow.operations.backtest.peaks import ClientPeak
from ratewindow.operations.backtest.samples import Sample
from ratewindow.operations.backtest.suggestion import Suggestion
from ratewindow.operations.logs.log import Example
from ratewindow.rules.rule import Rule


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

    requests: int  # that met it
    clients: int  # by their identities
    refused: Bounds
    would_refuse: Bounds
    clients_refused: Bounds  # or would be

    @property
    def unknown(self) -> "Numbers":
        """The same requests, of which nobody knows how many were refused."""
        return replace(self, refused=Bounds(0, self.requests), would_refuse=Bounds(0, 0), clients_refused=Bounds(0, self.clients))

    @property
    def share(self) -> float:
        """The most of the requests that were refused."""
        return self.refused.most / self.requests if self.requests else 0.0


@dataclass(frozen=True)
class OfRule:
    """One rule of the result; None for blocked clients whom no enforced rule met."""

    name: str
    rule: Rule | None
    numbers: Numbers

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
class OfLog:
    """The log itself: its lines, and those of them that are no requests; seconds since the epoch."""

    format: str
    read: int
    unreadable: int
    examples: Sequence[Example]  # of lines that cannot be read
    requests: int
    out_of_order: int
    first_s: float
    last_s: float
    whole_seconds: bool


@dataclass(frozen=True)
class OfPeriod:
    """The peaks of all clients in one period of a rule, its limit there, and what that should be."""

    period_ms: int
    limit: int
    clients: Sequence[ClientPeak]  # as the log names them
    suggestion: Suggestion

    @property
    def special_limits(self) -> Sequence[int]:
        """The present one, and the suggested one."""
        return [limit for limit in (self.limit, self.suggestion.limit) if limit is not None]

    @property
    def curve(self) -> Curve:
        """With points for the special limits."""
        return curve_of(self.clients, self.period_ms, self.special_limits)


@dataclass(frozen=True)
class Result:
    """The numbers of all rules together, of each, and of the clients that were refused most."""

    log: OfLog
    total: Numbers
    rules: Sequence[OfRule]
    caught: Sequence[Caught]
    never: Mapping[str, Bounds]  # refusals of clients who are never to be refused
    notes: Sequence[Note]
    periods: Sequence[OfPeriod]  # of a rule alone, if they were asked for, the shortest first
    reason: Note | None = None  # why no more is said than how many requests and clients there were
