"""A client in Redis: its states, and what processes have sent of the last hours about refused and busy clients."""

import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

from ratewindow.operations import client_rules
from ratewindow.operations.subject import recordings
from ratewindow.operations.subject.found import Found
from ratewindow.operations.subject.named import PREFIXES, Named
from ratewindow.reporting import codes, minutes, who
from ratewindow.reporting.codes import Refusal
from ratewindow.reporting.who import Who
from ratewindow.rulebook import current
from ratewindow.store import process_clients, state_keys

AHEAD = 10  # minutes by which the clock of a process may be ahead


def identities(named: Named) -> Iterator[str]:
    """Those that name the client, of what processes have sent."""
    if process_clients.in_memory():
        return
    yield from (each for _, _, value in _who(named) for each in _identities(value) if named.is_in(each))
    yield from (each for _, _, refusal in _codes(named) for by in refusal.by if named.is_in(each := by.identity))


def find(named: Named) -> Iterator[Found]:
    if process_clients.in_memory():
        return
    client = process_clients.patient_client()
    yield Found("counts in Redis", sum(client.exists(key) for key in _states(named)))
    fields = [(minute, field) for minute, field, _ in _who(named)]
    yield _found("clients of the last hours in Redis", [minute for minute, _ in fields])
    yield Found("recordings in Redis", len(recordings.fields(named)))
    yield _found("codes of refusals in Redis", [minute for minute, _, _ in _codes(named)])


def erase(named: Named) -> None:
    """Delete the states and codes, and put a stand-in for the client into what the collector has not stored yet."""
    if process_clients.in_memory():
        return
    client, stand_in = process_clients.patient_client(), named.stand_in()
    for key in _states(named):
        client.unlink(key)
    for minute, field, value in _who(named):
        client.hset(state_keys.minute_who(minute), field, _renamed(value, stand_in.of).to_text())
    recordings.erase_fields(named)
    for minute, code, _ in _codes(named):
        client.hdel(state_keys.minute_codes(minute), code)


def _states(named: Named) -> list[str]:
    """The keys of states that the client may have, as far as its identities are known: of others nobody knows the rest."""
    found: set[str] = set()
    book = current.rulebook()
    for name in client_rules.names(book):
        for rule in client_rules.named(book, name):
            names = [*rule.state_names, *filter(None, [rule.lock_name])]
            tags = [tag for each in named.identities(rule.recipe.normaliser) for tag in state_keys.client_tags(each)]
            found.update(state_keys.state(each, tag) for each in names for tag in tags)
    return sorted(found)


def _who(named: Named) -> Iterator[tuple[int, bytes, Who]]:
    """Minute and field of what a process has sent about one rule, where the client is named."""
    for minute, field, text in _fields(state_keys.minute_who, minutes.UNCOLLECTED_S):
        value = who.from_text(text)
        if value is not None and any(map(named.is_in, _identities(value))):
            yield minute, field, value


def _identities(value: Who) -> Iterator[str]:
    yield from (prefix + name for kind, prefix in PREFIXES.items() if kind in value.groups for name in value.groups[kind].named)


def _renamed(value: Who, of: Callable[[str], str]) -> Who:
    groups = dict(value.groups)
    for kind in groups.keys() & PREFIXES.keys():
        prefix, group = PREFIXES[kind], groups[kind]
        named = {of(prefix + name).removeprefix(prefix): known for name, known in group.named.items()}
        groups[kind] = group._replace(named=named)
    return value._replace(groups=groups)


def _codes(named: Named) -> Iterator[tuple[int, bytes, Refusal]]:
    for minute, code, text in _fields(state_keys.minute_codes, codes.EXPIRES_S):
        refusal = codes.from_text(code.decode(errors="replace"), text)
        if refusal is not None and any(named.is_in(by.identity) for by in refusal.by):
            yield minute, code, refusal


def _fields(key: Callable[[int], str], age_s: int) -> Iterator[tuple[int, bytes, str]]:
    """All fields of the hashes of the minutes that may still be there."""
    now = int(time.time()) // minutes.MINUTE_S
    numbers = range(now - age_s // minutes.MINUTE_S - 1, now + AHEAD)
    with process_clients.patient_client().pipeline(transaction=False) as pipe:
        for number in numbers:
            pipe.hgetall(key(number))
        answers: list[Any] = pipe.execute(raise_on_error=False)
    for number, answer in zip(numbers, answers, strict=True):
        if isinstance(answer, dict):
            yield from ((number, field, text.decode(errors="replace")) for field, text in answer.items())


def _found(where: str, numbers: list[int]) -> Found:
    moments = [datetime.fromtimestamp(number * minutes.MINUTE_S, UTC) for number in numbers]
    return Found(where, len(moments), min(moments, default=None), max(moments, default=None))
