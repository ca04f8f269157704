"""Counts in this process: what each rule did in each minute, sent to Redis about once a second."""

import atexit
import itertools
import logging
import os
import secrets
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from ratewindow import conf, connection, housekeeping
from ratewindow.limiter.types import Decision
from ratewindow.reporting import minutes
from ratewindow.reporting.sums import Sums

logger = logging.getLogger("ratewindow")

FLUSH_S = 1.0
MOST_RULES = 500  # different names in one minute
MOST_MINUTES = 120  # kept unsent while Redis is away; in memory mode, all that is kept

# The places in Sums that an outcome raises: what would be refused passes.
_PLACES = {"passed": (0,), "refused": (1,), "other": (2,), "would_refuse": (0, 3)}
_FALLBACK = 4


@dataclass
class _Sheet:
    """One minute's sums. A minute that is opened again gets another token, and so adds to what was sent before."""

    token: str
    sums: dict[str, list[int]] = field(default_factory=dict)
    changes: int = 0
    sent: int = 0  # the value of `changes` that Redis is known to have

    def frozen(self) -> dict[str, Sums]:
        return {rule: Sums(*numbers) for rule, numbers in self.sums.items()}


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

    def record(self, decisions: Iterable[Decision]) -> None:
        """Count what the rules of one request decided."""
        if not conf.current().stats:
            return
        minute = int(self._clock_s()) // minutes.MINUTE_S
        with self._lock:
            sheet = self._sheets.get(minute) or self._open(minute)
            for decision in decisions:
                numbers = sheet.sums.get(decision.rule)
                if numbers is None:
                    if len(sheet.sums) >= MOST_RULES:
                        self._tell(f"more than {MOST_RULES} rules met in a minute: the others are not counted")
                        continue
                    numbers = sheet.sums[decision.rule] = [0] * len(Sums._fields)
                for place in _PLACES[decision.outcome]:
                    numbers[place] += 1
                if decision.reason == "store":
                    numbers[_FALLBACK] += 1
                sheet.changes += 1

    def flush(self) -> None:
        """Send the sums of all minutes with news; when that fails nothing is lost, and the next call repeats it."""
        if connection.in_memory():
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
                self._sheets = {
                    minute: sheet
                    for minute, sheet in self._sheets.items()
                    if minute >= now_s // minutes.MINUTE_S or sheet.changes > sheet.sent
                }

    def held(self) -> dict[int, dict[str, Sums]]:
        """What this process counted, by minute and rule: all there is when no server is used."""
        with self._lock:
            return {minute: sheet.frozen() for minute, sheet in self._sheets.items()}

    def _open(self, minute: int) -> _Sheet:
        sheet = self._sheets[minute] = _Sheet(f"{self._token}.{next(self._serial)}")
        while len(self._sheets) > MOST_MINUTES:
            del self._sheets[min(self._sheets)]
            if not connection.in_memory():
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


def flush_last() -> None:
    """`flush` for a process that ends, where there is nobody left to hear of a failure but the log."""
    try:
        flush()
    except Exception as error:
        logger.warning("ratewindow: the last counts of this process could not be sent: %s", error)


housekeeping.every(lambda: FLUSH_S, flush)
atexit.register(flush_last)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_process.begin_anew)
