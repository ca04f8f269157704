"""The counts of this process: each decision counts on the sheet of its minute, which is sent to Redis about once a second."""

import itertools
import logging
import secrets
import threading
import time
from collections.abc import Callable, Collection

from django.http import HttpRequest
from django.utils.functional import LazyObject, empty

from ratewindow import conf
from ratewindow.limiter import forks
from ratewindow.limiter.types import Decision
from ratewindow.reporting import codes, hours, minutes, tallies, totals
from ratewindow.reporting.about_request import MOST_AGENT, Facts
from ratewindow.reporting.codes import Codes, Refusal
from ratewindow.reporting.peak_counts import PeakCounts
from ratewindow.reporting.sheets import Line, Sheet
from ratewindow.reporting.sums import Sums
from ratewindow.reporting.who import Who
from ratewindow.reporting.who_counts import REFUSING
from ratewindow.rulebook import recordings
from ratewindow.store import process_clients

logger = logging.getLogger("ratewindow")

FLUSH_S = 1.0
MOST_RULES = 500  # different names in one minute
MOST_WAITING = 128  # refused requests of a minute of which it is not counted yet who they were
MOST_MINUTES = 120  # kept unsent while Redis is away; with memory://, all that is kept

# The fields of Sums that an outcome raises, by their index: a request that would be refused passes.
PASSED, FALLBACK, NEAR = 0, 4, 5
PLACES = {"refused": (1,), "other": (2,), "would_refuse": (PASSED, 3)}


class Counters:
    """Counts under a lock that is held for a few dict operations, never while sending."""

    def __init__(self, clock_s: Callable[[], float] = time.time) -> None:
        self._clock_s = clock_s
        self.reset()

    def reset(self) -> None:
        """Begin with nothing counted. After a fork, the counts and the token so far are the parent's."""
        self._lock, self._sending = threading.Lock(), threading.Lock()
        self._token, self._serial = secrets.token_hex(6), itertools.count()
        self._sheets: dict[int, Sheet] = {}
        self._peaks = PeakCounts()
        self._logged: set[str] = set()
        self._causes: dict[str, int] = {}
        self._dropped = 0  # changes of minutes that are no longer kept
        self._gone: dict[str, Sums] = {}  # the sums of these minutes

    def forget(self) -> None:
        """Drop the counts that have not been sent."""
        with self._lock:
            self._sheets, self._peaks = {}, PeakCounts()

    def record(
        self, decisions: Collection[Decision], stats: bool = True, who: HttpRequest | str | None = None, status: int = 0
    ) -> None:
        """Count the decisions about one request, or about an identity; without `stats` only what was decided without the
        store. `status` is that of the answer, if there is one."""
        if not stats:
            self._record_causes(decisions)
            return
        facts: Facts | str | None = None
        now_s = self._clock_s()
        minute = int(now_s) // minutes.MINUTE_S
        with self._lock:
            sheet = self._sheets.get(minute) or self._open(minute)
            for decision in decisions:
                line = sheet.lines.get(decision.rule) or self._line(sheet, decision.rule)
                if line is None:
                    continue
                outcome, check = decision.outcome, decision.check
                client = check.identity if check is not None else ""
                if client:
                    try:
                        line.met[client] += 1
                    except KeyError:
                        line.who.meet(client)
                if outcome == "passed":
                    line.numbers[PASSED] += 1
                    for answer in decision.windows:
                        if answer[1] < answer[0].scarce:  # by index, as nearly every request comes here
                            line.numbers[NEAR] += 1
                            break
                else:
                    for place in PLACES[outcome]:
                        line.numbers[place] += 1
                if not client or outcome in REFUSING:
                    if facts is None:
                        facts = facts_of(who)
                    sheet.waiting.append((line.who, outcome, client, facts, decision))
                if decision.reason:
                    _explain(line, decision)
                    if decision.cause:
                        self._causes[decision.cause] = self._causes.get(decision.cause, 0) + 1
                if decision.took_s:
                    count_time(line.spans, decision.took_s)
                sheet.changes += 1
            if len(sheet.waiting) >= MOST_WAITING:
                sheet.count_waiting()
            if recordings.held:
                self._peaks.add(recordings.held, decisions, now_s, status)

    def _record_causes(self, decisions: Collection[Decision]) -> None:
        """Count decisions without the store even if statistics are off, for `health.status`."""
        for decision in decisions:
            if decision.cause:
                with self._lock:
                    self._causes[decision.cause] = self._causes.get(decision.cause, 0) + 1

    def note(self, rule: str, cause: str) -> None:
        """Count a failure that is not a decision: that of a site's own function."""
        if not conf.current().stats:
            return
        minute = int(self._clock_s()) // minutes.MINUTE_S
        with self._lock:
            sheet = self._sheets.get(minute) or self._open(minute)
            line = sheet.lines.get(rule) or self._line(sheet, rule)
            if line is not None:
                _count(line, cause)
                sheet.changes += 1

    def _line(self, sheet: Sheet, rule: str) -> Line | None:
        if len(sheet.lines) >= MOST_RULES:
            self._warn(f"more than {MOST_RULES} rules met in a minute: the others are not counted")
            return None
        line = sheet.lines[rule] = Line()
        return line

    def flush(self, ending: bool = False) -> None:
        """Send the sums of all minutes that have changed, and the peaks that are due or, if the process is `ending`, all. If
        that fails, nothing is lost: the next call repeats it."""
        if process_clients.in_memory():
            return
        with self._sending:  # otherwise older sums could overwrite newer ones
            now_s = self._clock_s()
            with self._lock:
                changed = [
                    (minute, sheet, sheet.changes, sheet.frozen(), sheet.copied(), sheet.codes.unsent())
                    for minute, sheet in self._sheets.items()
                    if sheet.changes > sheet.sent
                ]
            if changed:
                minutes.send(
                    {
                        minute: {f"{sheet.token}|{rule}": sums for rule, sums in frozen.items()}
                        for minute, sheet, _, frozen, *_ in changed
                    },
                    now_s,
                    {
                        minute: {f"{sheet.token}|{rule}": who.frozen(sheet.share()) for rule, who in copied.items()}
                        for minute, sheet, _, _, copied, _ in changed
                    },
                    {minute: unsent for minute, *_, unsent in changed},
                )
            with self._lock:
                for _, sheet, changes, *_, unsent in changed:
                    sheet.sent = changes
                    sheet.codes.note_sent(unsent)
                for minute, sheet in list(self._sheets.items()):
                    if minute < now_s // minutes.MINUTE_S and sheet.changes <= sheet.sent:
                        self._drop(minute)
                peaks = self._peaks.unsent(recordings.held, now_s, ending)
            if peaks:
                hours.send(peaks)
                with self._lock:
                    self._peaks.note_sent(peaks, now_s)

    def has_unsent(self) -> bool:
        """Whether `flush` has something to send. Without the lock: an answer of a moment ago does as well."""
        if process_clients.in_memory():
            return False
        return self._peaks.are_held or any(sheet.changes > sheet.sent for sheet in list(self._sheets.values()))

    def held(self) -> dict[int, dict[str, Sums]]:
        """The counts of this process by minute and rule; with memory://, these are all counts."""
        with self._lock:
            return {minute: sheet.frozen() for minute, sheet in self._sheets.items()}

    def since_start(self) -> dict[str, Sums]:
        """All that this process has counted, by rule."""
        with self._lock:
            found = dict(self._gone)
            for sheet in self._sheets.values():
                for rule, sums in sheet.frozen().items():
                    found[rule] = found[rule].plus(sums) if rule in found else sums
            return found

    def held_who(self) -> dict[int, dict[str, Who]]:
        """Who met the rules, by minute and rule; with memory://, these are all."""
        with self._lock:
            copies = {minute: (sheet.share(), sheet.copied()) for minute, sheet in self._sheets.items()}
        return {minute: {rule: copy.frozen(share) for rule, copy in copied.items()} for minute, (share, copied) in copies.items()}

    def held_code(self, code: str) -> Refusal | None:
        """What this process knows of a code; with memory://, that is all."""
        with self._lock:
            sheets = [sheet for minute, sheet in sorted(self._sheets.items(), reverse=True) if self._is_recent(minute)]
            for sheet in sheets:
                sheet.count_waiting()
            return next((found for sheet in sheets if (found := sheet.codes.find(code))), None)

    def _is_recent(self, minute: int) -> bool:
        return int(self._clock_s()) // minutes.MINUTE_S - minute <= codes.MINUTES

    def causes(self) -> dict[str, int]:
        """How many decisions this process has made without the store, by cause."""
        with self._lock:
            return dict(self._causes)

    def total(self) -> int:
        """How many decisions this process has counted."""
        with self._lock:
            return self._dropped + sum(sheet.changes for sheet in self._sheets.values())

    def _drop(self, minute: int) -> None:
        sheet = self._sheets.pop(minute)
        self._dropped += sheet.changes
        for rule, sums in sheet.frozen().items():
            name = rule if rule in self._gone or len(self._gone) < totals.MOST_NAMES else totals.OTHERS
            self._gone[name] = self._gone[name].plus(sums) if name in self._gone else sums

    def _open(self, minute: int) -> Sheet:
        for number, earlier in self._sheets.items():  # an outage of hours takes no more memory than its minutes would, sent
            earlier.count_waiting()
            if not self._is_recent(number):
                earlier.codes = Codes()
            for line in earlier.lines.values():
                line.who.shrink(earlier.share())
        sheet = self._sheets[minute] = Sheet(f"{self._token}.{next(self._serial)}")
        while len(self._sheets) > MOST_MINUTES:
            self._drop(min(self._sheets))
            if not process_clients.in_memory():
                self._warn(f"Redis is away for more than {MOST_MINUTES} minutes: the oldest counts are dropped")
        return sheet

    def _warn(self, message: str) -> None:
        if message not in self._logged:
            self._logged.add(message)
            logger.warning("ratewindow: %s", message)


def facts_of(who: HttpRequest | str | None) -> Facts | str:
    """What `about` needs of a request, which is not kept itself: its body may be large."""
    if not isinstance(who, HttpRequest):
        return who or ""
    meta, known = who.META, vars(who)
    user = known.get("_cached_user") or known.get("_acached_user") or known.get("user")
    if isinstance(user, LazyObject):  # which holds the request until somebody looks at the user
        user = None if user._wrapped is empty else user._wrapped
    return Facts(
        meta.get("REMOTE_ADDR") or "",
        meta.get("HTTP_X_FORWARDED_FOR") or "",
        str(meta.get("HTTP_USER_AGENT") or "")[:MOST_AGENT],
        who.method or "",
        who.path_info,
        getattr(who, "urlconf", None),
        who.resolver_match,
        user,
    )


def _explain(line: Line, decision: Decision) -> None:
    """Count why a request was refused, or decided without the store."""
    if decision.outcome == "refused":
        _count(line, decision.reason)
    if decision.cause:
        _count(line, decision.cause)
    if decision.cause or decision.reason == "store":
        line.numbers[FALLBACK] += 1


def _count(line: Line, reason: str) -> None:
    if reason in line.reasons or len(line.reasons) < tallies.MOST_NAMES:
        line.reasons[reason] = line.reasons.get(reason, 0) + 1


def count_time(spans: list[int], took_s: float) -> None:
    """Count a time in one of the spans of `latency`; longer times count in the last. Runs for every decision."""
    took_us = int(took_s * 1e6)
    try:
        spans[(took_us * took_us).bit_length()] += 1  # the integer part of the logarithm
    except IndexError:
        spans[-1] += 1


_process = Counters()
record = _process.record
flush = _process.flush
has_unsent = _process.has_unsent
held = _process.held
held_who = _process.held_who
since_start = _process.since_start
held_code = _process.held_code
causes = _process.causes
total = _process.total
note = _process.note
forget = _process.forget
reset = _process.reset


def flush_last() -> None:
    """`flush` when the process ends; a failure is logged."""
    forks.notice()  # the parent sends its own counts
    try:
        flush(ending=True)
    except Exception as error:
        logger.warning("ratewindow: the last counts of this process could not be sent: %s", error)
