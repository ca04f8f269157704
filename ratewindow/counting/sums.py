"""What one rule did in one span of time, and whom it refused, as values that can be added, compared and sent.

`Sums` has counts, some of them by name: of reasons, and of how long decisions took, in spans that are each 1.4 times as long as
the one before. `Who` has clients and their networks. The counts of a name are never too large; `bound` says by how much they may
be too small, and what a name may have that is not listed. Whatever is dropped raises the bound.

How many different clients there were is estimated in 256 bytes, however many: HyperLogLog. Each client falls into one of 256
registers by its digest, which nobody can choose without the SECRET_KEY; the register keeps the longest run of zero bits seen.
Registers of different processes and minutes are united by their maxima. Flajolet and others, *HyperLogLog*, 2007.
"""

import base64
import json
import math
import re
from bisect import bisect_left
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from itertools import accumulate, chain, starmap
from operator import add
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

Tally = Mapping[str, int]

MOST_NAMES = 100  # of one tally
_NAME = re.compile(r"[A-Za-z0-9_.:/-]{1,40}")
_NONE: Tally = MappingProxyType({})


Name = TypeVar("Name", bound=Hashable)
Part = TypeVar("Part", bound=Any)  # which has `plus`


def added(parts: Iterable[tuple[Name, Part]]) -> dict[Name, Part]:
    """By name, what has the same name added up."""
    total: dict[Name, Part] = {}
    for name, part in parts:
        total[name] = total[name].plus(part) if name in total else part
    return total


class Sums(NamedTuple):
    """A request counts once as passed, refused or other; would_refuse, fallback and near say more about one of these.

    `reasons` counts why requests were refused and why decisions were made without the store, `latency` how long
    decisions took, `used` how much of its limits requests had used.
    """

    passed: int = 0
    refused: int = 0
    other: int = 0  # refused by another rule
    would_refuse: int = 0  # passed, but the rule would have refused if it were enforced
    fallback: int = 0  # decided without the store
    near: int = 0  # passed, with over 80 % of a limit used
    reasons: Tally = _NONE  # limit, penalty, ... of refusals; store:timeout, function:cost, ... of failures
    latency: Tally = _NONE  # by the upper bound of a span in milliseconds, one of `BOUNDS`
    # By limit, ``100/m:35``: had used, itself included, up to 35 % of 100 in a minute; ``100/m:over``: found no room there.
    used: Tally = _NONE

    def __bool__(self) -> bool:
        return any(self)

    @property
    def met(self) -> int:
        """How many requests matched the rule."""
        return self.passed + self.refused + self.other

    @property
    def numbers(self) -> tuple[int, ...]:
        """The counts that a database can add up."""
        return (self.passed, self.refused, self.other, self.would_refuse, self.fallback, self.near)

    @classmethod
    def of(cls, numbers: Iterable[int], *tallies: Tally) -> "Sums":
        passed, refused, other, would_refuse, fallback, near = numbers
        return cls(passed, refused, other, would_refuse, fallback, near, *tallies)

    @property
    def tallies(self) -> tuple[Tally, ...]:
        return (self.reasons, self.latency, self.used)

    def plus(self, more: "Sums") -> "Sums":
        return Sums.of(map(add, self.numbers, more.numbers), *map(_plus, self.tallies, more.tallies))

    def beyond(self, known: "Sums") -> "Sums":
        """What this report of the same requests has more than another one, number by number."""
        return Sums.of(
            (max(0, now - before) for now, before in zip(self.numbers, known.numbers, strict=True)),
            *map(_beyond, self.tallies, known.tallies),
        )

    def to_text(self) -> str:
        """``[[4,2,0,0,1,3],{"limit":2,"store:timeout":1},{"0.128":6},{"5/m:60":1,"5/m:80":3}]``"""
        return json.dumps([self.numbers, *map(dict, self.tallies)], separators=(",", ":"))


NUMBERS = Sums._fields[:6]
TALLIES = Sums._fields[6:]
NOTHING = Sums()


def sums_from_text(text: str) -> Sums | None:
    """Read what `to_text` wrote. Another program may have written something else: None, or without what is no count."""
    try:
        numbers, *tallies = json.loads(text)
        # An older version sends no `used`.
        if len(numbers) == len(NUMBERS) and len(tallies) in (2, len(TALLIES)) and all(map(is_count, numbers)):
            return Sums.of(numbers, *map(tally_of, tallies))
    except (ValueError, TypeError, RecursionError):
        pass
    return None


def of_columns(columns: Mapping[str, Any]) -> Sums:
    return Sums.of((columns[name] for name in NUMBERS), *(tally_of(columns[name]) for name in TALLIES))


def is_count(value: object) -> bool:
    """Whether one process can have counted this in a minute; a database holds far more."""
    return type(value) is int and 0 <= value < 10**12


def tally_of(value: object) -> Tally:
    """The counts in a JSON value; anything else in it is ignored, since others can write to Redis, and people edit rows."""
    if not isinstance(value, dict):
        return {}
    return {name: number for name, number in value.items() if type(number) is int and number > 0 and _NAME.fullmatch(name)}


def _plus(one: Tally, more: Tally) -> Tally:
    return {name: one.get(name, 0) + more.get(name, 0) for name in {**one, **more}}


def _beyond(now: Tally, before: Tally) -> Tally:
    return {name: count - before.get(name, 0) for name, count in now.items() if count > before.get(name, 0)}


SHARES = 20  # twentieths of a limit
SCARCE = SHARES // 5  # with fewer left, over 80 % is used
OVER = SHARES + 1  # in their place: there was no room

SPANS = 50

# Span n counts decisions of less than sqrt(2^n) microseconds and at least sqrt(2^(n - 1)). Written with three digits and
# never as 1.48e+03, which is not a valid name in a tally.
BOUNDS = tuple(f"{float(f'{2 ** (number / 2) / 1000:.3g}'):g}" for number in range(SPANS))


@dataclass(frozen=True)
class Percentiles:
    """Milliseconds within which 50, 95 and 99 percent of decisions were made: the upper bounds of their spans."""

    count: int
    p50_ms: float
    p95_ms: float
    p99_ms: float


def percentiles(tally: Tally) -> Percentiles | None:
    """None if there were no decisions."""
    spans = [(float(bound), tally[bound]) for bound in BOUNDS if bound in tally]
    total = sum(count for _, count in spans)
    if not total:
        return None
    so_far = [*accumulate(count for _, count in spans)]
    p50, p95, p99 = (spans[bisect_left(so_far, total * share / 100)][0] for share in (50, 95, 99))
    return Percentiles(total, p50, p95, p99)


REFUSING = ("refused", "would_refuse")  # the outcomes of which it is counted who they were
MOST_CLIENTS, MOST_NETWORKS = 50, 20  # in a span of time, those most refused
MOST_SENT = 100  # names of one kind
MOST_NAME = 255  # characters
MOST_AGENT = 80  # of a User-Agent


class Counted(NamedTuple):
    """How many requests were refused, would have been refused, and, of all together, matched the rule."""

    refused: int = 0
    would_refuse: int = 0
    met: int = 0

    def plus(self, more: "Counted") -> "Counted":
        return Counted(self.refused + more.refused, self.would_refuse + more.would_refuse, self.met + more.met)

    def beyond(self, known: "Counted") -> "Counted":
        return Counted(*(max(0, now - before) for now, before in zip(self, known, strict=True)))

    @property
    def rank(self) -> int:
        return self.refused + self.would_refuse


class Group(NamedTuple):
    """The names of one kind."""

    named: Mapping[str, Counted] = MappingProxyType({})
    bound: Counted = Counted()

    def plus(self, more: "Group") -> "Group":
        return Group(added(chain(self.named.items(), more.named.items())), self.bound.plus(more.bound))

    def beyond(self, known: "Group") -> "Group":
        named = {name: now.beyond(known.named.get(name, Counted())) for name, now in self.named.items()}
        return Group({name: more for name, more in named.items() if more.rank}, self.bound.beyond(known.bound))

    def cut(self, most: int) -> "Group":
        """The names most refused."""
        order = sorted(self.named, key=lambda name: (-self.named[name].rank, name))
        dropped = (self.named[name] for name in order[most:])
        largest = Counted(*map(max, zip(*dropped, Counted(), strict=True)))  # of each number
        return Group({name: self.named[name] for name in order[:most]}, self.bound.plus(largest))


class Known(NamedTuple):
    """What is known of a client that was refused, of its requests since then that passed this rule: answers, and how many of
    them were no error and no failed login."""

    agent: str = ""  # of its newest refusal
    is_user: bool = False
    answers: int = 0
    succeeded: int = 0

    def plus(self, more: "Known") -> "Known":
        """`more` is the newer one."""
        return Known(
            more.agent or self.agent,
            self.is_user or more.is_user,
            self.answers + more.answers,
            self.succeeded + more.succeeded,
        )


class Who(NamedTuple):
    """Whom one rule refused in one span of time."""

    total: Counted = Counted()
    clients: Group = Group()
    networks: Group = Group()
    # By which it is estimated how many different clients were refused, or would have been; empty if none was.
    registers_refused: str = ""
    registers_would_refuse: str = ""
    known: Mapping[str, Known] = MappingProxyType({})  # by client; rows do not have it

    def __bool__(self) -> bool:
        return any(self.total)

    def plus(self, more: "Who") -> "Who":
        return Who(
            self.total.plus(more.total),
            self.clients.plus(more.clients),
            self.networks.plus(more.networks),
            united(self.registers_refused, more.registers_refused),
            united(self.registers_would_refuse, more.registers_would_refuse),
            added(chain(self.known.items(), more.known.items())),
        )

    def beyond(self, known: "Who") -> "Who":
        """What this report of the same requests has more than another one; nothing if that has seen as many."""
        if self.total.met <= known.total.met:
            return NOBODY
        # The registers stay whole: uniting them again adds nothing.
        return self._replace(
            total=self.total.beyond(known.total),
            clients=self.clients.beyond(known.clients),
            networks=self.networks.beyond(known.networks),
        )

    def cut(self) -> "Who":
        """As many names as are kept of one span of time."""
        return self._replace(clients=self.clients.cut(MOST_CLIENTS), networks=self.networks.cut(MOST_NETWORKS))

    def to_text(self) -> str:
        """``[[2,0,9],[{"ip:203.0.113.9":[2,0,0]},[0,0,0]],[{},[0,0,0]],"","",{"ip:203.0.113.9":["curl/8.5",false,7,7]}]``"""
        return json.dumps(self, separators=(",", ":"), default=dict)


NOBODY = Who()
Value = TypeVar("Value", Sums, Who)  # what is counted, sent and stored alike


def who_from_text(text: str) -> Who | None:
    """Read what `to_text` wrote. Another program may have written something else: None, or without what is no count."""
    try:
        total, clients, networks, refused, would_refuse, known = json.loads(text)
        if not is_registers(refused) or not is_registers(would_refuse):
            return None
        facts = {name: _known(*each) for name, each in known.items()}
        return Who(_counted(total), _read_group(*clients), _read_group(*networks), refused, would_refuse, facts)
    except (ValueError, TypeError, AttributeError, RecursionError):
        return None


def _read_group(named: Any, bound: Any) -> Group:
    if len(named) > MOST_SENT or not all(0 < len(name) <= MOST_NAME and name.isprintable() for name in named):
        raise ValueError("these are not the names that a process sends")
    return Group({name: _counted(counted) for name, counted in named.items()}, _counted(bound))


def _counted(numbers: Any) -> Counted:
    if len(numbers) != 3 or not all(map(is_count, numbers)):
        raise ValueError(f"{numbers!r:.100} are not three counts")
    return Counted(*numbers)


def _known(agent: Any, is_user: Any, answers: Any, succeeded: Any) -> Known:
    if not (is_count(answers) and is_count(succeeded)):
        raise ValueError(f"{answers!r:.100} and {succeeded!r:.100} are no counts")
    return Known(str(agent)[:MOST_AGENT], is_user is True, answers, succeeded)


REGISTERS = 256
ERROR = 1.04 / math.sqrt(REGISTERS)  # the standard error of an estimate, 6.5 %
_ALPHA = 0.7213 / (1 + 1.079 / REGISTERS)
_BITS = 40  # of a digest, beyond those that choose the register
_FIRST = ord("0")  # a register as a printable character


class Distinct:
    """Registers while they grow."""

    def __init__(self) -> None:
        self._registers = bytearray([_FIRST]) * REGISTERS

    def add(self, tag: str) -> None:
        """A client by its `state_keys.client_tag`, ``{<digest>}``."""
        digest = base64.urlsafe_b64decode(tag[1:9])
        rank = _BITS - int.from_bytes(digest[1:], "big").bit_length() + 1 + _FIRST
        if rank > self._registers[digest[0]]:
            self._registers[digest[0]] = rank

    def frozen(self) -> str:
        return self._registers.decode() if self._registers.strip(b"0") else ""


def united(one: str, more: str) -> str:
    return "".join(starmap(max, zip(one, more, strict=True))) if one and more else one or more


def is_registers(value: object) -> bool:
    """Whether this can be what a process has sent."""
    known = range(_FIRST, _FIRST + _BITS + 2)
    return isinstance(value, str) and len(value) in (0, REGISTERS) and all(ord(each) in known for each in value)


def estimate(registers: str) -> float:
    """How many clients there were, give or take a standard error of `ERROR`."""
    if not registers:
        return 0.0
    ranks = [ord(each) - _FIRST for each in registers]
    raw = _ALPHA * REGISTERS * REGISTERS / sum(2.0**-rank for rank in ranks)
    empty = ranks.count(0)
    return REGISTERS * math.log(REGISTERS / empty) if raw <= 2.5 * REGISTERS and empty else raw


def at_least(registers: str) -> int:
    """A number that there were at least, by two standard errors, and with two digits: 1,000, 1,100."""
    lowest = int(estimate(registers) * (1 - 2 * ERROR))
    beyond = max(0, len(str(lowest)) - 2)
    return int(str(lowest)[:2] + "0" * beyond)
