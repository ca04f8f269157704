"""Counts in this process: what each rule did in each minute, sent to Redis about once a second."""

import atexit
import itertools
import logging
import secrets
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from django.core.signals import setting_changed

from ratewindow import background, conf, site_functions
from ratewindow.limiter import forks
from ratewindow.limiter.types import Decision
from ratewindow.reporting import latency, minutes, tallies
from ratewindow.reporting.sums import NUMBERS, Sums
from ratewindow.store import process_clients
from ratewindow.store.address import MEMORY

logger = logging.getLogger("ratewindow")

FLUSH_S = 1.0
MOST_RULES = 500  # different names in one minute
MOST_MINUTES = 120  # kept unsent while Redis is away; in memory mode, all that is kept

# The places in Sums that an outcome raises: what would be refused passes.
_PLACES = {"passed": (0,), "refused": (1,), "other": (2,), "would_refuse": (0, 3)}
_FALLBACK = 4


class _Line:
    """One rule's sums of a minute, while they grow."""

    __slots__ = ("numbers", "reasons", "spans")

    def __init__(self) -> None:
        self.numbers = [0] * len(NUMBERS)
        self.reasons: dict[str, int] = {}
        self.spans = [0] * latency.SPANS

    def explain(self, decision: Decision) -> None:
        """Why it was refused, or decided without the store."""
        if decision.outcome == "refused":
            self.count(decision.reason)
        if decision.cause:
            self.count(decision.cause)
        if decision.cause or decision.reason == "store":
            self.numbers[_FALLBACK] += 1

    def count(self, reason: str) -> None:
        if reason in self.reasons or len(self.reasons) < tallies.MOST_NAMES:
            self.reasons[reason] = self.reasons.get(reason, 0) + 1

    def frozen(self) -> Sums:
        return Sums.of(self.numbers, dict(self.reasons), latency.tally_of(self.spans))


@dataclass
class _Sheet:
    """One minute's sums. A minute that is opened again gets another token, and so adds to what was sent before."""

    token: str
    lines: dict[str, _Line] = field(default_factory=dict)
    changes: int = 0
    sent: int = 0  # the value of `changes` that Redis is known to have

    def frozen(self) -> dict[str, Sums]:
        return {rule: line.frozen() for rule, line in self.lines.items()}


class Counters:
    """Adds up under a lock that is held for a few dict operations, never while anything is sent."""

    def __init__(self, clock_s: Callable[[], float] = time.time) -> None:
        self._clock_s = clock_s
        self.begin_anew()

    def begin_anew(self) -> None:
        """Forget everything: after a fork the counts so far are the parent's, and so is its token."""
        self._lock, self._sending = threading.Lock(), threading.Lock()
        self._token, self._serial = secrets.token_hex(6), itertools.count()
        self._sheets: dict[int, _Sheet] = {}
        self._told: set[str] = set()
        self._causes: dict[str, int] = {}
        self._gone = 0  # changes of minutes that are sent, or dropped

    def forget(self) -> None:
        """Drop what has not been sent."""
        with self._lock:
            self._sheets = {}

    def record(self, decisions: Iterable[Decision]) -> None:
        """Count what the rules of one request decided."""
        if not conf.current().stats:
            self._record_causes(decisions)
            return
        minute = int(self._clock_s()) // minutes.MINUTE_S
        with self._lock:
            sheet = self._sheets.get(minute) or self._open(minute)
            for decision in decisions:
                line = sheet.lines.get(decision.rule) or self._line(sheet, decision.rule)
                if line is None:
                    continue
                for place in _PLACES[decision.outcome]:
                    line.numbers[place] += 1
                if decision.reason:
                    line.explain(decision)
                    if decision.cause:
                        self._causes[decision.cause] = self._causes.get(decision.cause, 0) + 1
                if decision.took_s:
                    latency.count(line.spans, decision.took_s)
                sheet.changes += 1

    def _record_causes(self, decisions: Iterable[Decision]) -> None:
        """Without statistics, too, the state of the limiter says what was decided without the store."""
        for decision in decisions:
            if decision.cause:
                with self._lock:
                    self._causes[decision.cause] = self._causes.get(decision.cause, 0) + 1

    def note(self, rule: str, cause: str) -> None:
        """Count what went wrong for a rule, beside its decisions: a function of the site's own."""
        if not conf.current().stats:
            return
        minute = int(self._clock_s()) // minutes.MINUTE_S
        with self._lock:
            sheet = self._sheets.get(minute) or self._open(minute)
            line = sheet.lines.get(rule) or self._line(sheet, rule)
            if line is not None:
                line.count(cause)
                sheet.changes += 1

    def _line(self, sheet: _Sheet, rule: str) -> _Line | None:
        if len(sheet.lines) >= MOST_RULES:
            self._tell(f"more than {MOST_RULES} rules met in a minute: the others are not counted")
            return None
        line = sheet.lines[rule] = _Line()
        return line

    def flush(self) -> None:
        """Send the sums of all minutes with news; when that fails nothing is lost, and the next call repeats it."""
        if process_clients.in_memory():
            return
        with self._sending:  # else older sums could overtake newer ones
            now_s = self._clock_s()
            with self._lock:
                news = [
                    (minute, sheet, sheet.changes, sheet.frozen())
                    for minute, sheet in self._sheets.items()
                    if sheet.changes > sheet.sent
                ]
            if news:
                minutes.send(
                    {
                        minute: {f"{sheet.token}|{rule}": sums for rule, sums in frozen.items()}
                        for minute, sheet, _, frozen in news
                    },
                    now_s,
                )
            with self._lock:
                for _, sheet, changes, _ in news:
                    sheet.sent = changes
                for minute, sheet in list(self._sheets.items()):
                    if minute < now_s // minutes.MINUTE_S and sheet.changes <= sheet.sent:
                        self._drop(minute)

    def held(self) -> dict[int, dict[str, Sums]]:
        """What this process counted, by minute and rule: all there is when no server is used."""
        with self._lock:
            return {minute: sheet.frozen() for minute, sheet in self._sheets.items()}

    def causes(self) -> dict[str, int]:
        """What made decisions be made without the store since this process began, and how many."""
        with self._lock:
            return dict(self._causes)

    def total(self) -> int:
        """How many decisions this process has counted."""
        with self._lock:
            return self._gone + sum(sheet.changes for sheet in self._sheets.values())

    def _drop(self, minute: int) -> None:
        self._gone += self._sheets.pop(minute).changes

    def _open(self, minute: int) -> _Sheet:
        sheet = self._sheets[minute] = _Sheet(f"{self._token}.{next(self._serial)}")
        while len(self._sheets) > MOST_MINUTES:
            self._drop(min(self._sheets))
            if not process_clients.in_memory():
                self._tell(f"Redis is away for more than {MOST_MINUTES} minutes: the oldest counts are dropped")
        return sheet

    def _tell(self, what: str) -> None:
        if what not in self._told:
            self._told.add(what)
            logger.warning("ratewindow: %s", what)


_process = Counters()
record = _process.record
flush = _process.flush
held = _process.held
causes = _process.causes
total = _process.total


def flush_last() -> None:
    """`flush` for a process that ends, where there is nobody left to hear of a failure but the log."""
    forks.notice()  # what a parent has counted is the parent's to send
    try:
        flush()
    except Exception as error:
        logger.warning("ratewindow: the last counts of this process could not be sent: %s", error)


_of_memory = False  # what a test counts without a server


def _changed(*, setting: str, value: Any, **_: Any) -> None:
    """What was counted in memory must not be sent to the server that is back after it."""
    global _of_memory
    if setting == conf.SETTING:
        if _of_memory:
            _process.forget()
        _of_memory = isinstance(value, dict) and value.get("REDIS") == MEMORY


site_functions.listen(_process.note)
background.every(lambda: FLUSH_S, flush, apart="reports")  # a server that hangs holds it up for seconds
atexit.register(flush_last)
setting_changed.connect(_changed, dispatch_uid="ratewindow.counters")
forks.after_fork(_process.begin_anew)
