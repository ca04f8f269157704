"""The peaks of the clients of recorded rules in this process, while they grow.

What a client uses of a window is in every decision: the limit less what remains, as all processes have counted it. A request
that is refused is not counted there, so what a client asks beyond the limit is added up here, over the window's period.
Of a rule at most `MOST_CLIENTS` clients are held, whatever comes.
"""

import itertools
import secrets
from collections.abc import Collection
from functools import partial
from typing import NamedTuple

from ratewindow.limiter.types import Check, Decision
from ratewindow.reporting.about_request import has_user
from ratewindow.reporting.recorded_hours import BAD, GOOD, MOST_CLIENTS, SIGNED_IN, Hour, Peak, erased, is_in, name_of
from ratewindow.rulebook.recordings import Held, Recorded

HOUR_S = 3600
SEND_S = 10.0  # how often the hour in progress is sent: all of it, since Redis has to have it once
MOST_UNSENT = 2  # hours of a rule that are over, kept while Redis is away
SLOTS = 16  # of a period: what was refused within one is known to a slot more
_USED, _BEYOND, _REQUESTS, _REFUSED, _MARKS = range(len(Peak._fields))

_peak = partial(tuple.__new__, Peak)  # of all values in a row, without a step of Python for each: a lock is held meanwhile


class Unsent(NamedTuple):
    """One hour of one recording; `field` names it in Redis, for this process."""

    hour: int
    field: str
    peaks: Hour
    changes: int


class _Refused:
    """The units that one client was refused within the last period."""

    __slots__ = ("slots", "units")

    def __init__(self) -> None:
        self.slots: dict[int, int] = {}
        self.units = 0

    def add(self, slot: int, units: int) -> int:
        self.slots[slot] = self.slots.get(slot, 0) + units
        self.units += units
        while (first := next(iter(self.slots))) < slot - SLOTS:
            self.units -= self.slots.pop(first)
        return self.units


class _Rule:
    """The peaks of one recording in one hour, and the level at which its clients are kept from now on."""

    def __init__(self, recorded: Recorded, token: str) -> None:
        self._token, self._serial = token, itertools.count()
        self._level = 0
        self._refused: dict[str, _Refused] = {}  # by identity; also of the hour before, since a period may begin there
        self._slot_s = 0.0
        self._unsent: list[Unsent] = []  # hours that are over
        self.recorded = recorded
        self.ends_s = 0.0
        self.sent = self.changes = 0
        self.sent_at_s = float("-inf")
        self._begin(0)

    def _begin(self, hour: int) -> None:
        self._hour = hour
        self._field = f"{self._token}.{next(self._serial)}|{self.recorded.pk}"
        # By identity, which a decision has at hand: its name, and the numbers of its Peak.
        self._clients: dict[str, tuple[str, list[int]]] = {}
        self.ends_s = (hour + 1) * HOUR_S

    def turn(self, recorded: Recorded, now_s: float) -> None:
        """Follow the recording as it is now, and the clock."""
        if recorded.left_out != self.recorded.left_out:
            gone = {who for who, (name, _) in self._clients.items() if erased(name) in recorded.left_out}
            for who in gone:
                del self._clients[who]
                self._refused.pop(who, None)
            self.changes += len(gone)
            self._unsent = [each._replace(peaks=each.peaks.without(recorded.left_out)) for each in self._unsent]
        self.recorded = recorded
        if now_s >= self.ends_s:
            if self.changes > self.sent:
                self._unsent = [*self._unsent, self._as_unsent()][-MOST_UNSENT:]
            self.sent = self.changes
            self._begin(int(now_s) // HOUR_S)
            oldest = int(now_s / self._slot_s) - SLOTS if self._slot_s else 0
            self._refused = {who: each for who, each in self._refused.items() if next(reversed(each.slots)) >= oldest}

    def add(self, decision: Decision, check: Check, now_s: float, status: int) -> None:
        known = self._clients.get(check.identity) or self._enter(check)
        if known is None:
            return
        self.changes += 1
        numbers, outcome = known[1], decision.outcome
        numbers[_REQUESTS] += 1
        if outcome == "other" or decision.cause:  # nobody has counted it
            return
        for answer in decision.windows:
            window = answer[0]
            if window.tag == self.recorded.window:
                used = window.limit - answer[1]
                if used > numbers[_USED]:
                    numbers[_USED] = used
                if outcome != "passed":
                    self._refuse(numbers, check, window.period_ms / (1000 * SLOTS), now_s)
                break
        if status and outcome != "refused":
            numbers[_MARKS] |= GOOD if status < 400 else BAD

    def _refuse(self, numbers: list[int], check: Check, slot_s: float, now_s: float) -> None:
        self._slot_s = slot_s
        who = check.identity
        refused = self._refused.get(who)
        if refused is None:
            refused = self._refused[who] = _Refused()
        numbers[_REFUSED] += 1
        beyond = refused.add(int(now_s / slot_s), check.cost)
        if beyond > numbers[_BEYOND]:
            numbers[_BEYOND] = beyond
        if len(self._refused) > MOST_CLIENTS:
            self._halve()

    def _enter(self, check: Check) -> tuple[str, list[int]] | None:
        name = name_of(check.keys[0])
        if not is_in(name, self._level) or (self.recorded.left_out and erased(name) in self.recorded.left_out):
            return None
        while len(self._clients) >= MOST_CLIENTS:
            self._halve()
        if not is_in(name, self._level):
            return None
        known = self._clients[check.identity] = (name, [0, 0, 0, 0, SIGNED_IN if has_user(check.identity) else 0])
        return known

    def _halve(self) -> None:
        self._level += 1
        self._clients = {who: known for who, known in self._clients.items() if is_in(known[0], self._level)}
        self._refused = {who: each for who, each in self._refused.items() if who in self._clients}

    def _as_unsent(self) -> Unsent:
        peaks = Hour(self._level, {name: _peak(numbers) for name, numbers in self._clients.values()})
        return Unsent(self._hour, self._field, peaks, self.changes)

    def unsent(self, now_s: float, all_of_it: bool) -> list[Unsent]:
        due = all_of_it or now_s >= self.sent_at_s + SEND_S
        return [*self._unsent, *([self._as_unsent()] if due and self.changes > self.sent else [])]

    def note_sent(self, sent: Unsent, now_s: float) -> None:
        self._unsent = [each for each in self._unsent if each is not sent]
        if sent.field == self._field:
            self.sent, self.sent_at_s = sent.changes, now_s


class PeakCounts:
    """Those of all recordings. The caller holds a lock."""

    def __init__(self) -> None:
        self._token = secrets.token_hex(6)
        self._rules: dict[int, _Rule] = {}

    def add(self, held: Held, decisions: Collection[Decision], now_s: float, status: int) -> None:
        for decision in decisions:
            recorded, check = held.get(decision.rule), decision.check
            if recorded is None or check is None or now_s >= recorded.until_s:
                continue
            rule = self._rules.get(recorded.pk)
            if rule is None:
                rule = self._rules[recorded.pk] = _Rule(recorded, self._token)
            if rule.recorded is not recorded or now_s >= rule.ends_s:
                rule.turn(recorded, now_s)
            rule.add(decision, check, now_s, status)

    @property
    def are_held(self) -> bool:
        return bool(self._rules)

    def unsent(self, held: Held, now_s: float, all_of_it: bool = False) -> list[Unsent]:
        """What Redis does not have yet. What is no longer recorded is sent a last time."""
        if not self._rules:
            return []
        going_on = {recorded.pk: recorded for recorded in held.values()}
        found: list[Unsent] = []
        for pk, rule in list(self._rules.items()):
            rule.turn(going_on.get(pk, rule.recorded), now_s)
            over = pk not in going_on or now_s >= going_on[pk].until_s
            unsent = rule.unsent(now_s, all_of_it or over)
            found += unsent
            if over and not unsent:
                del self._rules[pk]
        return found

    def note_sent(self, sent: Collection[Unsent], now_s: float) -> None:
        for rule in self._rules.values():
            for each in sent:
                rule.note_sent(each, now_s)
