"""The clients of one hour of a recording as a value that can be added, compared, narrowed and sent.

A client is known by a keyed hash alone, the one that the names of its counts have. If there are more clients than are kept,
the hour's level rises, and of each two that were kept one remains, whichever its hash says: at the same level it is in every
hour or in none.
"""

import json
import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple
from zlib import crc32

from ratewindow.limiter.keys import digest
from ratewindow.reporting import tallies

MOST_CLIENTS = 2000  # of one rule in one hour
MOST_LEVEL = 32  # bits of the checksum
GOOD, BAD, SIGNED_IN = 1, 2, 4  # passed requests were answered below 400, or otherwise; and the client is a user
_NAME = re.compile(r"[A-Za-z0-9_-]{12}")


class Peak(NamedTuple):
    """One client in one hour, in units of the rule's limit, and in requests."""

    used: int = 0  # at most in the window, by the counts that all processes share
    beyond: int = 0  # refused at most within one period, added up over the processes
    requests: int = 0
    refused: int = 0  # of these, by this rule, or would have been
    marks: int = 0  # GOOD, BAD and SIGNED_IN, added up

    def plus(self, more: "Peak") -> "Peak":
        """With the same client's peak of another process."""
        return Peak(
            max(self.used, more.used),
            self.beyond + more.beyond,
            self.requests + more.requests,
            self.refused + more.refused,
            self.marks | more.marks,
        )

    def at_least(self, known: "Peak") -> "Peak":
        """The larger of two reports of the same hour, number by number."""
        return Peak(
            max(self.used, known.used),
            max(self.beyond, known.beyond),
            max(self.requests, known.requests),
            max(self.refused, known.refused),
            self.marks | known.marks,
        )


class Hour(NamedTuple):
    level: int = 0
    clients: Mapping[str, Peak] = MappingProxyType({})

    def plus(self, more: "Hour") -> "Hour":
        return self._joined(more, Peak.plus)

    def at_least(self, known: "Hour") -> "Hour":
        return self._joined(known, Peak.at_least)

    def _joined(self, other: "Hour", join: Any) -> "Hour":
        level = max(self.level, other.level)
        ours, theirs = self.at_level(level).clients, other.at_level(level).clients
        both = {name: join(ours.get(name, NO_PEAK), theirs.get(name, NO_PEAK)) for name in {**ours, **theirs}}
        return Hour(level, both).bounded()

    def at_level(self, level: int) -> "Hour":
        if level <= self.level:
            return self
        return Hour(level, {name: peak for name, peak in self.clients.items() if is_in(name, level)})

    def bounded(self) -> "Hour":
        """At the lowest level with at most so many clients."""
        hour = self
        while len(hour.clients) > MOST_CLIENTS and hour.level < MOST_LEVEL:
            hour = hour.at_level(hour.level + 1)
        return hour

    def without(self, left_out: Iterable[str]) -> "Hour":
        """Without the clients that have been erased, by the digests of their names."""
        gone = {*left_out}
        return (
            self._replace(clients={name: peak for name, peak in self.clients.items() if erased(name) not in gone})
            if gone
            else self
        )

    def to_json(self) -> dict[str, tuple[int, ...]]:
        return dict(self.clients)

    def to_text(self) -> str:
        """``[0,{"Wy0dGx4mP3q8":[8,0,340,0,1]}]``"""
        return json.dumps([self.level, self.to_json()], separators=(",", ":"))


NO_PEAK = Peak()
NOTHING = Hour()


def name_of(key: str) -> str:
    """A client's name in recordings: the beginning of the keyed hash that a key of its counts ends with."""
    return key.rpartition("{")[2][:12]


def is_in(name: str, level: int) -> bool:
    """Whether a client is among one of 2 to the `level`. A name is a keyed hash, so nobody can choose to be or not to be."""
    return not crc32(name.encode()) & ((1 << level) - 1)


def erased(name: str) -> str:
    """What is kept of the name of a client that has been erased."""
    return digest(name, 9)


def of_json(level: Any, clients: Any) -> Hour:
    """The hour in a row, whose JSON people can edit: whatever is odd in it is left out."""
    if not isinstance(clients, dict) or not isinstance(level, int):
        return NOTHING
    return Hour(level, {name: Peak(*numbers) for name, numbers in clients.items() if _is_peak(name, numbers)})


def from_text(text: str) -> Hour | None:
    """Read what `to_text` wrote; None for anything else, which another program must have written."""
    try:
        level, clients = json.loads(text)
    except (ValueError, TypeError, RecursionError):
        return None
    if not tallies.is_count(level) or level > MOST_LEVEL or not isinstance(clients, dict) or len(clients) > MOST_CLIENTS:
        return None
    found = of_json(level, clients)
    return found if len(found.clients) == len(clients) else None


def _is_peak(name: str, numbers: Any) -> bool:
    if not isinstance(numbers, list) or len(numbers) != len(Peak._fields) or not _NAME.fullmatch(name):
        return False
    return all(map(tallies.is_count, numbers)) and numbers[-1] <= GOOD | BAD | SIGNED_IN
