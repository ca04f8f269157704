"""Delete orphaned state from Redis: that of deleted rules, and of windows that rules no longer have.

Also values that another program wrote under our keys, because of which no decision about a client is possible, and counts
made while the server's clock was far ahead, which would expire too late.
"""

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import cast

import redis

from ratewindow.limiter.rates import parse_rates
from ratewindow.limiter.redis.scripts import SLACK_MS
from ratewindow.limiter.redis.store_for import store_for
from ratewindow.limiter.types import Check, Window
from ratewindow.models import Override, RateRule
from ratewindow.operations.shared_prefix import refuse_when_shared
from ratewindow.overrides import RATE
from ratewindow.rulebook import reading
from ratewindow.rules import code_rates
from ratewindow.rules.rule import Rule
from ratewindow.store import process_clients, state_keys

BUDGET_S = 20.0
_OF_LISTS = "sliding_log"  # the only algorithm whose state is a list; all others have a string
SCAN_COUNT = 200  # hash buckets of the server in one call: a fraction of a millisecond
UNLINK_COUNT = 200
KEYS_AT_ONCE = 10_000  # between two readings of the rules


@dataclass(frozen=True)
class Cleaned:
    """The result of one run. `complete` is False if time ran out before all keys were seen."""

    seen: int = 0
    orphans: int = 0
    complete: bool = True
    dry_run: bool = False
    harmed: int = 0

    def __str__(self) -> str:
        verb = "would be deleted" if self.dry_run else "deleted"
        harmed = f", {self.harmed} overwritten by others {verb}" if self.harmed else ""
        rest = "" if self.complete else "; out of time before all were seen"
        return f"{self.seen} keys seen, {self.orphans} of no rule {verb}{harmed}{rest}"


@dataclass(frozen=True)
class _Living:
    """The state to keep: windows of rules in the database, and any window of rules that only code knows."""

    windows: frozenset[str]  # rule tag + window tag
    known: Mapping[str, Window]  # windows of the rules in the database, by the same tags
    lists: frozenset[str]  # those among them whose state is a list
    rules: frozenset[str]  # rule tags

    def owns(self, tags: str) -> bool:
        return tags in self.windows or tags[:8] in self.rules


def clean_orphans(dry_run: bool = False, budget_s: float = BUDGET_S, clock_s: Callable[[], float] = time.monotonic) -> Cleaned:
    """Delete state that belongs to no rule. Raise SharedPrefix, and delete nothing, if it may belong to another site.

    State that is left for want of time is no leak: it expires, only later.
    """
    if process_clients.in_memory():
        return Cleaned(dry_run=dry_run)
    refuse_when_shared()
    seen = orphans = harmed = cursor = 0
    end_s = clock_s() + budget_s
    masters = process_clients.masters()
    while True:
        page, cursor = _scan(masters[0], cursor, end_s, clock_s)
        # Scan before reading the rules: otherwise a rule made in between would lose its first counts.
        living = _living()
        abandoned = [key for key, tags in page if not living.owns(tags)]
        wrong = _overwritten([key for key, tags in page if tags in living.lists])
        expiries = _expiries(masters[0], [(key, tags) for key, tags in page if living.owns(tags)])
        wrong += [key for key, _, left_ms in expiries if left_ms == -1]  # all that the limiter writes expires
        ahead = [(key, living.known[tags]) for key, tags, left_ms in expiries if _is_too_far(living.known.get(tags), left_ms)]
        if cursor == 0:
            wrong += _of_wrong_types(masters.pop(0), living, end_s, clock_s)
        if not dry_run:
            _unlink([*abandoned, *set(wrong)])
            _peek_at(ahead)
        seen, orphans, harmed = seen + len(page), orphans + len(abandoned), harmed + len(set(wrong))
        if not masters or clock_s() >= end_s:
            return Cleaned(seen, orphans, complete=not masters, dry_run=dry_run, harmed=harmed)


def _overwritten(keys: list[bytes]) -> list[bytes]:
    """The keys that should hold a list and do not: each decision about such a client fails until the key expires."""
    wrong: list[bytes] = []
    for first in range(0, len(keys), UNLINK_COUNT):
        batch = keys[first : first + UNLINK_COUNT]
        with process_clients.patient_client().pipeline(transaction=False) as pipe:
            for key in batch:
                pipe.type(key)
            wrong += [key for key, kind in zip(batch, pipe.execute(), strict=True) if kind not in (b"list", b"none")]
    return wrong


def _expiries(master: redis.Redis, keys: list[tuple[bytes, str]]) -> list[tuple[bytes, str, int]]:
    """The keys with the milliseconds until each expires; -1 means never."""
    found: list[tuple[bytes, str, int]] = []
    for first in range(0, len(keys), UNLINK_COUNT):
        batch = keys[first : first + UNLINK_COUNT]
        with master.pipeline(transaction=False) as pipe:
            for key, _ in batch:
                pipe.pttl(key)
            replies = pipe.execute(raise_on_error=False)
        found += [(*each, left_ms) for each, left_ms in zip(batch, replies, strict=True) if isinstance(left_ms, int)]
    return found


def _is_too_far(window: Window | None, left_ms: int) -> bool:
    """Whether state of this window expires too late, since the server's clock was ahead when it was written."""
    if window is None:
        return False
    drains_ms = (window.burst or 0) * window.period_ms // max(1, window.limit)
    return left_ms > max(2 * window.period_ms, drains_ms) + window.period_ms + SLACK_MS


def _peek_at(states: list[tuple[bytes, Window]]) -> None:
    """Peek with the limiter, which deletes counts of the far future."""
    store = store_for(process_clients.patient_client())
    for key, window in states:
        with suppress(redis.ResponseError):  # a value of another type, which is deleted anyway
            store.run([Check("clean", (window,), (key.decode(),), cost=0)], "peek")


def _of_wrong_types(master: redis.Redis, living: "_Living", end_s: float, clock_s: Callable[[], float]) -> list[bytes]:
    """Keys with names like ours of a type that our state never has, and lists where there should be strings."""
    wrong: list[bytes] = []
    for kind in ("hash", "set", "zset", "stream", "list"):
        cursor = 0
        while True:
            page, cursor = _scan(master, cursor, end_s, clock_s, kind)
            wrong += [key for key, tags in page if kind != "list" or (tags in living.windows and tags not in living.lists)]
            if cursor == 0 or clock_s() >= end_s:
                break
    return wrong


def _scan(
    master: redis.Redis, cursor: int, end_s: float, clock_s: Callable[[], float], kind: str | None = None
) -> tuple[list[tuple[bytes, str]], int]:
    """A page of keys with our naming, each with the 16 characters that name rule and window, and the next cursor."""
    prefix = state_keys.state_prefix()
    ours = re.compile(re.escape(prefix).encode() + rb"([A-Za-z0-9_-]{16}):\{[^{}]*\}\Z")
    page: list[tuple[bytes, str]] = []
    while True:
        cursor, keys = cast("tuple[int, list[bytes]]", master.scan(cursor, f"{prefix}*", SCAN_COUNT, kind))
        page += [(key, match[1].decode()) for key in keys if (match := ours.match(key))]
        if cursor == 0 or len(page) >= KEYS_AT_ONCE or clock_s() >= end_s:
            return page, cursor


def _living() -> _Living:
    rules = reading.read_rules()
    windows = {
        state_keys.rule_tag(rule.name, beside_code) + tag
        for rule in rules
        for beside_code in (False, True)  # a shadow rule counts apart from the rate in code of its name
        for tag in [*(window.tag for window in rule.windows), *([state_keys.LOCK_TAG] if rule.penalty_ms else [])]
    } | {state_keys.rule_tag(name, beside_code) + tag for name, tag in _of_other_rates(rules) for beside_code in (False, True)}
    known = {
        state_keys.rule_tag(rule.name, beside_code) + window.tag: window
        for rule in rules
        for beside_code in (False, True)
        for window in rule.windows
    }
    lists = {
        state_keys.rule_tag(rule.name, beside_code) + window.tag
        for rule in rules
        for beside_code in (False, True)
        for window in rule.windows
        if window.algorithm == _OF_LISTS
    }
    # Keep the state of rows that cannot be read as rules: they may be corrected.
    unread = set(RateRule.objects.values_list("name", flat=True)) - {rule.name for rule in rules}
    return _Living(frozenset(windows), known, frozenset(lists), frozenset(map(state_keys.rule_tag, code_rates.names() | unread)))


def _of_other_rates(rules: Iterable[Rule]) -> Iterator[tuple[str, str]]:
    """Rule and window of the rates that override rules for some clients."""
    names = [rule.name for rule in rules]
    for rule, rate in Override.objects.get_queryset().not_ended().filter(action=RATE).values_list("rule", "rate").distinct():
        with suppress(ValueError):  # an invalid rate applies to nobody
            for window in parse_rates(rate):
                yield from ((name, window.tag) for name in ([rule] if rule else names))


def _unlink(keys: list[bytes]) -> None:
    for first in range(0, len(keys), UNLINK_COUNT):
        with process_clients.patient_client().pipeline(transaction=False) as pipe:
            for key in keys[first : first + UNLINK_COUNT]:
                pipe.unlink(key)  # one command each: on a cluster they are in many slots
            pipe.execute()
