"""The counts of one rule in one span of time, as a value that can be added, compared and sent."""

import json
from collections.abc import Iterable, Mapping
from operator import add
from types import MappingProxyType
from typing import Any, NamedTuple

from ratewindow.reporting import tallies
from ratewindow.reporting.tallies import Tally

_NONE: Tally = MappingProxyType({})


class Sums(NamedTuple):
    """A request counts once as passed, refused or other; would_refuse, fallback and near say more about one of these.

    `reasons` counts why requests were refused and why decisions were made without the store, `latency` how long
    decisions took.
    """

    passed: int = 0
    refused: int = 0
    other: int = 0  # refused by another rule
    would_refuse: int = 0  # passed, but an enforced rule would have refused
    fallback: int = 0  # decided without the store
    near: int = 0  # passed, with over 80 % of a limit used
    reasons: Tally = _NONE  # limit, penalty, ... of refusals; store:timeout, function:cost, ... of failures
    latency: Tally = _NONE  # by the upper bound of a span in milliseconds: `latency.BOUNDS`

    @property
    def met(self) -> int:
        """How many requests met the rule."""
        return self.passed + self.refused + self.other

    @property
    def numbers(self) -> tuple[int, ...]:
        """The counts that a database can add up."""
        return (self.passed, self.refused, self.other, self.would_refuse, self.fallback, self.near)

    @classmethod
    def of(cls, numbers: Iterable[int], reasons: Tally = _NONE, latency: Tally = _NONE) -> "Sums":
        passed, refused, other, would_refuse, fallback, near = numbers
        return cls(passed, refused, other, would_refuse, fallback, near, reasons, latency)

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
        """``[[4,2,0,0,1,3],{"limit":2,"store:timeout":1},{"0.128":6}]``"""
        return json.dumps([self.numbers, dict(self.reasons), dict(self.latency)], separators=(",", ":"))


NUMBERS = Sums._fields[:6]
TALLIES = Sums._fields[6:]
NOTHING = Sums()


def from_text(text: str) -> Sums | None:
    """Read what `to_text` wrote; None for anything else, which another program must have written."""
    try:
        numbers, reasons, latency = json.loads(text)
    except (ValueError, TypeError, RecursionError):
        return None
    if not isinstance(numbers, list) or len(numbers) != len(NUMBERS) or not all(map(tallies.is_count, numbers)):
        return None
    if not tallies.is_tally(reasons) or not tallies.is_tally(latency):
        return None
    return Sums.of(numbers, reasons, latency)


def of_columns(columns: Mapping[str, Any]) -> Sums:
    """Read a row, or some of its columns. Its tallies may be any JSON, since people can edit rows."""
    reasons, latency = (tallies.of_json(columns[name]) for name in TALLIES)
    return Sums.of((columns.get(name, 0) for name in NUMBERS), reasons, latency)
