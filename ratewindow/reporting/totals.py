"""Totals since counting began, in one hash of Redis: they only grow, whatever is collected, deleted or restarted.

A process adds what its sums of a minute have grown by, in the transaction that sets these sums (`minutes.send`): Redis has
both or neither.

Names of rules that are gone stay. Once there are as many fields as may be, names that are new count under one name, `OTHERS`:
code may make names of what clients send.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ratewindow.limiter.redis.faults import BadReply
from ratewindow.reporting import compared
from ratewindow.reporting.latency import BOUNDS
from ratewindow.reporting.sums import NUMBERS, Sums
from ratewindow.reporting.tallies import Tally
from ratewindow.store import malformed, state_keys

SILENT_S = 400 * 86_400  # after which nobody counts here any more
MOST_RULE = 64  # characters of a rule's name
MOST_FIELDS = 20_000  # after which no new name is added: 2,000 rules with four reasons each
MOST_NAMES = 2000  # of rules in one process
OTHERS = "(others)"  # which is no rule's name
_REASON, _LATENCY = "reason:", "latency:"
_SPANS = frozenset(BOUNDS)
# One text is read in a tenth of the time that redis-py's own parser takes for thousands.
_READ = "return table.concat(redis.call('HGETALL', KEYS[1]), '\\n')"


@dataclass
class Totals:
    """By the name of a number its count for each rule, by rule and reason how often that was why, and how long decisions took."""

    numbers: dict[str, dict[str, int]] = field(default_factory=lambda: {name: {} for name in NUMBERS})
    reasons: dict[tuple[str, str], int] = field(default_factory=dict)
    latency: dict[str, int] = field(default_factory=dict)


def growth(sums: Iterable[tuple[str, Sums, Sums]]) -> Counter[str]:
    """The fields of the hash, and what to add to each: of rules with their sums before and after."""
    grown = Counter[str]()
    for rule, before, after in sums:
        if not is_name(rule) or compared.is_line(rule):
            continue
        for name, earlier, now in zip(NUMBERS, before.numbers, after.numbers, strict=True):
            grown[f"{name}|{rule}"] += now - earlier
        for reason, count in _added(before.reasons, after.reasons):
            grown[f"{_REASON}{reason}|{rule}"] += count
        for bound, count in _added(before.latency, after.latency):
            grown[f"{_LATENCY}{bound}|"] += count
    return +grown


def bounded(client: Any, grown: Mapping[str, int], size: int) -> Mapping[str, int]:
    """The same, with new names under `OTHERS` where a hash of that `size` is full. Processes may add theirs at once."""
    if size + len(grown) <= MOST_FIELDS:
        return grown
    rules = {rule for name in grown if (rule := name.partition("|")[2])}
    fields = [f"{number}|{rule}" for rule in rules for number in NUMBERS]
    found = client.hmget(state_keys.totals(), fields) if fields else []
    known = {field.partition("|")[2] for field, value in zip(fields, found, strict=True) if value is not None}
    joined = Counter[str]()
    for name, count in grown.items():
        kind, _, rule = name.partition("|")
        joined[name if not rule or rule in known else f"{kind}|{OTHERS}"] += count
    return joined


def is_name(rule: str) -> bool:
    return 0 < len(rule) <= MOST_RULE and rule.isprintable()


def _added(before: Tally, after: Tally) -> Iterable[tuple[str, int]]:
    return ((name, count - before.get(name, 0)) for name, count in after.items())


def read(client: Any) -> Totals:
    """The totals of all processes, within the time limit of `client`."""
    text = client.eval(_READ, 1, state_keys.totals())
    if not isinstance(text, bytes):
        raise BadReply(f"not totals: {text!r:.100}")
    words = text.decode(errors="replace").split("\n") if text else []
    return _of(zip(words[::2], words[1::2], strict=False))


def of_process(by_rule: Mapping[str, Sums]) -> Totals:
    """The totals of this process's own sums; with memory:// these are all."""
    return _of((name, str(count)) for name, count in growth((rule, Sums(), sums) for rule, sums in by_rule.items()).items())


def _of(fields: Iterable[tuple[str, str]]) -> Totals:
    found, names = Totals(), set[str]()
    for name, number in fields:
        kind, _, rule = name.partition("|")
        if rule not in names and is_name(rule):
            names.add(rule)
        by_rule = found.numbers.get(kind)
        if not number.isdecimal():
            malformed.skip("total", name, number)
        elif by_rule is not None and rule in names:
            by_rule[rule] = int(number)
        elif kind.startswith(_REASON) and rule in names:
            found.reasons[rule, kind.removeprefix(_REASON)] = int(number)
        elif (bound := kind.removeprefix(_LATENCY)) in _SPANS:
            found.latency[bound] = int(number)
        else:
            malformed.skip("total", name, number)
    return found
