"""What is counted of one rule in one span of time, as a value that can be added, compared and sent."""

from collections.abc import Iterable, Mapping
from operator import add
from types import MappingProxyType
from typing import Any, NamedTuple

from ratewindow.reporting import tallies
from ratewindow.reporting.tallies import Tally

_NONE: Tally = MappingProxyType({})


class Sums(NamedTuple):
    """A request counts once in passed, refused or other; the next two say more about one already counted.

    `reasons` says why requests were refused, and what made others be decided without the store; `latency` how
    long decisions took.
    """

    passed: int = 0
    refused: int = 0
    other: int = 0  # refused by another rule
    would_refuse: int = 0  # passed, but an enforced rule would have refused
    fallback: int = 0  # decided without the store
    reasons: Tally = _NONE  # limit, penalty, ... of refusals; store:timeout, function:cost, ... of what failed
    latency: Tally = _NONE  # by the upper bound of a span, in milliseconds: `latency.BOUNDS`

    @property
    def met(self) -> int:
        """How many requests met the rule."""
        return self.passed + self.refused + self.other

    @property
    def numbers(self) -> tuple[int, ...]:
        """Those that a database can add up."""
        return (self.passed, self.refused, self.other, self.would_refuse, self.fallback)

    @classmethod
    def of(cls, numbers: Iterable[int], reasons: Tally = _NONE, latency: Tally = _NONE) -> "Sums":
        passed, refused, other, would_refuse, fallback = numbers
        return cls(passed, refused, other, would_refuse, fallback, reasons, latency)

    def plus(self, more: "Sums") -> "Sums":
        return Sums.of(
            map(add, self.numbers, more.numbers),
            tallies.plus(self.reasons, more.reasons),
            tallies.plus(self.latency, more.latency),
        )

    def at_least(self, known: "Sums") -> "Sums":
        """The larger of two reports of the same requests, number by number."""
        return Sums.of(
            map(max, self.numbers, known.numbers),
            tallies.at_least(self.reasons, known.reasons),
            tallies.at_least(self.latency, known.latency),
        )

    def to_text(self) -> str:
        """``4,2,0,0,1;limit=2,store:timeout=1;0.128=6``; without what is nothing at the end."""
        parts = [",".join(map(str, self.numbers)), tallies.to_text(self.reasons), tallies.to_text(self.latency)]
        return ";".join(parts).rstrip(";")


NUMBERS = Sums._fields[:5]
NOTHING = Sums()


def from_text(text: str) -> Sums | None:
    """What `to_text` wrote; None for anything else, which another program must have left there."""
    numbers, *told = text.split(";")
    parts = numbers.split(",")
    reasons, latency = (tallies.from_text(told[place]) if len(told) > place else _NONE for place in (0, 1))
    if len(parts) != len(NUMBERS) or not all(map(tallies.is_number, parts)) or reasons is None or latency is None or told[2:]:
        return None
    return Sums.of(map(int, parts), reasons, latency)


def of_columns(columns: Mapping[str, Any]) -> Sums:
    """What a row says; its tallies may be anything that JSON can be, since people can edit rows."""
    reasons, latency = (tallies.of_json(columns[name]) for name in ("reasons", "latency"))
    return Sums.of((columns[name] for name in NUMBERS), reasons, latency)
