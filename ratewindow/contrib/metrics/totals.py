"""Totals since counting began, in one hash of Redis: they only grow, whatever is collected, deleted or restarted.

A process adds what its sums of a minute have grown by, in the transaction that sets these sums (`minutes.send`): Redis has
both or neither.

Names of rules that are gone stay. Once there are as many fields as may be, names that are new count under one name, `OTHERS`:
code may make names of what clients send.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ratewindow.counting.counters import OTHERS
from ratewindow.counting.minutes import is_rule
from ratewindow.counting.sheets import ALL
from ratewindow.counting.sums import NOTHING, NUMBERS, Sums, sums_from_text
from ratewindow.limiter.redis.thread_deadline import limited
from ratewindow.store import process_clients, state_keys

SILENT_S = 400 * 86_400  # after which nobody counts here any more
MOST_FIELDS = 20_000  # after which no new name is added: 2,000 rules with four reasons each
# What is exported. The names are those of Envoy's rate limit service, where it has the same: total_hits, within_limit,
# over_limit, near_limit and shadow_mode.
COUNTS: Mapping[str, str] = {
    "hits": "Requests that matched the rule: those within, over, in shadow and refused by another rule.",
    "within_limit": "Requests that passed, and would have passed if the rule were enforced.",
    "over_limit": "Requests that the rule refused.",
    "shadow_mode": "Requests that passed and would have been refused if the rule were enforced.",
    "other_rule": "Requests that matched the rule and were refused by another one.",
    "near_limit": "Requests that passed, with over 80 % of a limit used.",
    "fallback": "Requests that were decided without Redis.",
}
_REASON, _LATENCY = "reason:", "latency:"
# One text is read in a tenth of the time that redis-py's own parser takes for thousands.
_READ = "return table.concat(redis.call('HGETALL', KEYS[1]), '\\n')"


@dataclass
class Totals:
    """By the name of a number its count for each rule, by rule and reason how often that was why, and how long decisions took."""

    numbers: dict[str, dict[str, int]] = field(default_factory=lambda: {name: {} for name in NUMBERS})
    reasons: dict[tuple[str, str], int] = field(default_factory=dict)
    latency: dict[str, int] = field(default_factory=dict)

    def counts(self) -> dict[str, dict[str, int]]:
        """By rule, those of `COUNTS`."""
        rules = sorted(set().union(*self.numbers.values()))
        return {rule: _counts({name: by_rule.get(rule, 0) for name, by_rule in self.numbers.items()}) for rule in rules}


def _counts(numbers: Mapping[str, int]) -> dict[str, int]:
    return {
        "hits": numbers["passed"] + numbers["refused"] + numbers["other"],
        "within_limit": numbers["passed"] - numbers["would_refuse"],
        "over_limit": numbers["refused"],
        "shadow_mode": numbers["would_refuse"],
        "other_rule": numbers["other"],
        "near_limit": numbers["near"],
        "fallback": numbers["fallback"],
    }


def key() -> str:
    return f"{state_keys.minutes()}:totals"  # in the slot of the minutes, with which it is written


def addition(client: Any, fields: Mapping[int, Mapping[str, Sums]]) -> Callable[[Any], None]:
    """What the sums have grown by since Redis has them."""
    with limited(process_clients.PATIENT_S), client.pipeline(transaction=False) as pipe:
        for minute, by_name in fields.items():
            pipe.hmget(state_keys.minute(minute), list(by_name))
        pipe.hlen(key())
        *texts, size = pipe.execute()
    before = (sums_from_text(text.decode(errors="replace")) if text else None for of_minute in texts for text in of_minute)
    after = (field for by_name in fields.values() for field in by_name.items())
    grown = Counter[str]()
    for earlier, (name, now) in zip(before, after, strict=True):
        grown.update(_fields(name.partition("|")[2], now.beyond(earlier or NOTHING)))
    with limited(process_clients.PATIENT_S):
        known = _bounded(client, grown, size)

    def add(pipe: Any) -> None:
        for name, count in known.items():
            pipe.hincrby(key(), name, count)
        pipe.expire(key(), SILENT_S)

    return add


def _fields(rule: str, grown: Sums) -> Counter[str]:
    """The fields of the hash, and what to add to each."""
    if not is_rule(rule) or rule == ALL:  # whose requests the rules count
        return Counter()
    named = {f"{name}|{rule}": count for name, count in zip(NUMBERS, grown.numbers, strict=True)}
    named |= {f"{_REASON}{reason}|{rule}": count for reason, count in grown.reasons.items()}
    return +Counter({**named, **{f"{_LATENCY}{bound}|": count for bound, count in grown.latency.items()}})


def _bounded(client: Any, grown: Mapping[str, int], size: int) -> Mapping[str, int]:
    """The same, with new names under `OTHERS` where a hash of that `size` is full. Processes may add theirs at once."""
    if size + len(grown) <= MOST_FIELDS:
        return grown
    rules = {rule for name in grown if (rule := name.partition("|")[2])}
    fields = [f"{number}|{rule}" for rule in rules for number in NUMBERS]
    found = client.hmget(key(), fields) if fields else []
    known = {field.partition("|")[2] for field, value in zip(fields, found, strict=True) if value is not None}
    joined = Counter[str]()
    for name, count in grown.items():
        kind, _, rule = name.partition("|")
        joined[name if not rule or rule in known else f"{kind}|{OTHERS}"] += count
    return joined


def read(client: Any) -> Totals:
    """The totals of all processes, within the time limit of `client`."""
    words = client.eval(_READ, 1, key()).decode(errors="replace").split("\n")
    return _of(zip(words[::2], words[1::2], strict=False))


def of_process(by_rule: Mapping[str, Sums]) -> Totals:
    """The totals of this process's own sums; with memory:// these are all."""
    return _of((name, str(count)) for rule, sums in by_rule.items() for name, count in _fields(rule, sums).items())


def _of(fields: Iterable[tuple[str, str]]) -> Totals:
    totals = Totals()
    for name, number in fields:
        kind, _, rule = name.partition("|")
        if not number.isdecimal():  # of another program, which must not hide the others
            continue
        if kind in totals.numbers:
            totals.numbers[kind][rule] = int(number)
        elif kind.startswith(_REASON):
            totals.reasons[rule, kind.removeprefix(_REASON)] = int(number)
        else:
            totals.latency[kind.removeprefix(_LATENCY)] = int(number)
    return totals
