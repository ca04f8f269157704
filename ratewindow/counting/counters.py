"""The counts of this process: each decision counts on the sheet of its minute, which is sent to Redis about once a second."""

import logging
import pickle
import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from functools import lru_cache
from itertools import chain, count

from django.http import HttpRequest

from ratewindow import conf
from ratewindow.counting import minutes
from ratewindow.counting.sheets import ALL, Line, Refusal, RequestFacts, Sheet, facts_of
from ratewindow.counting.sums import MOST_NAMES, OVER, REFUSING, SCARCE, SHARES, Sums, Value, Who, added
from ratewindow.limiter import forks
from ratewindow.limiter.types import RuleDecision
from ratewindow.store import process_clients

logger = logging.getLogger("ratewindow")

FLUSH_S = 1.0
MOST_RULES = 500  # different names in one minute
MOST_GONE = 2000  # names whose sums are held since the process started
OTHERS = "(others)"  # the name of all others, which no rule has
MOST_PENDING = 128  # refused requests of a minute of which it is not counted yet who they were
MOST_MINUTES = 120  # kept unsent while Redis is unavailable; with memory://, all that is kept

# The fields of Sums that an outcome raises, by their index: a request that would be refused passes.
PASSED, FALLBACK, NEAR = 0, 4, 5
PLACES = {"refused": (1,), "other": (2,), "would_refuse": (PASSED, 3)}
ORDER = {"refused": 0, "would_refuse": 1, "other": 2, "passed": 3}  # what one rule says of a request before what another says


class Counters:
    """Counts under a lock, which is held neither while sending, nor while it is said who was refused."""

    def __init__(self, clock_s: Callable[[], float] = time.time) -> None:
        self._clock_s = clock_s
        # Called with refusals, under the lock, once it is counted who they were.
        self.observers: list[Callable[[Collection[Refusal]], None]] = []
        self.reset()

    def reset(self) -> None:
        """Begin with nothing counted. After a fork, the counts and the token so far are the parent's."""
        self._lock, self._sending = threading.Lock(), threading.Lock()
        self._token, self._serial = secrets.token_hex(6), count()
        self._sheets: dict[int, Sheet] = {}
        self._uncounted = Counter[str]()  # causes of decisions without the store while statistics are off
        self._gone: dict[str, Sums] = {}  # the sums of minutes that are no longer kept

    def record(
        self,
        decisions: Collection[RuleDecision],
        stats: bool = True,
        who: HttpRequest | str | None = None,
        succeeded: bool = False,
    ) -> None:
        """Count the decisions about one request, or about an identity, and whether its answer was no error; without `stats`
        only what was decided without the store."""
        if not stats:
            with self._lock:
                self._uncounted.update(decision.cause for decision in decisions if decision.cause)
            return
        facts: RequestFacts | str | None = None
        minute = int(self._clock_s()) // minutes.MINUTE_S
        with self._lock:
            sheet = self._sheets.get(minute) or self._open(minute)
            for decision in decisions:
                line = sheet.lines.get(decision.rule) or self._line(sheet, decision.rule)
                outcome = decision.outcome
                if outcome == "passed":
                    if line.known and decision.check is not None:
                        line.answer(decision.check.identity, succeeded)
                elif outcome in REFUSING:
                    if facts is None:
                        facts = facts_of(who)
                    client = decision.check.identity if decision.check is not None else ""
                    sheet.pending.append((line, outcome, client, facts, decision))
                _count_decision(line, decision)
                sheet.changes += 1
            if len(decisions) > 1:  # the first of these says what became of the request
                for decision in sorted(decisions, key=lambda each: ORDER[each.outcome])[1:]:
                    _count_decision(sheet.again, decision)
            if len(sheet.pending) >= MOST_PENDING:
                self._count_pending(sheet)

    def note(self, rule: str, cause: str) -> None:
        """Count a failure that is not a decision: that of a site's own function."""
        if not conf.current().stats:
            return
        minute = int(self._clock_s()) // minutes.MINUTE_S
        with self._lock:
            sheet = self._sheets.get(minute) or self._open(minute)
            _count(sheet.lines.get(rule) or self._line(sheet, rule), cause)
            sheet.changes += 1

    def flush(self) -> None:
        """Send the sums of all minutes that have changed. If that fails, nothing is lost: the next call repeats it."""
        if process_clients.in_memory():
            return
        with self._sending:  # otherwise older sums could overwrite newer ones
            now_s = self._clock_s()
            sheets = self._copies(unsent_alone=True)
            if sheets:
                sums = {minute: _by_field(sheet.token, sheet.sums()) for minute, sheet in sheets.items()}
                minutes.send(sums, now_s, {minute: _by_field(sheet.token, sheet.who()) for minute, sheet in sheets.items()})
            with self._lock:
                for minute, sheet in list(self._sheets.items()):
                    if minute in sheets:
                        sheet.sent = sheets[minute].changes
                    if minute < now_s // minutes.MINUTE_S and not sheet.is_unsent:
                        self._drop(minute)

    def flush_last(self) -> None:
        """`flush` when the process ends; a failure is logged."""
        forks.notice()  # the parent sends its own counts
        try:
            self.flush()
        except Exception as error:
            logger.warning("ratewindow: the last counts of this process could not be sent: %s", error)

    def has_unsent(self) -> bool:
        """Whether `flush` has something to send. Without the lock: an answer of a moment ago does as well."""
        return not process_clients.in_memory() and any(sheet.is_unsent for sheet in list(self._sheets.values()))

    def count_pending(self) -> None:
        """Let the observers have the refusals of this moment, too."""
        with self._lock:
            for sheet in self._sheets.values():
                self._count_pending(sheet)

    def held(self) -> dict[int, dict[str, Sums]]:
        """The counts of this process by minute and rule; with memory://, these are all counts."""
        return {minute: sheet.sums() for minute, sheet in self._copies().items()}

    def held_who(self) -> dict[int, dict[str, Who]]:
        """Who was refused by the rules, by minute and rule; with memory://, these are all."""
        return {minute: sheet.who() for minute, sheet in self._copies().items()}

    def since_start(self) -> dict[str, Sums]:
        """All that this process has counted, by rule, and of ALL."""
        with self._lock:
            return added(chain(self._gone.items(), *(sheet.sums().items() for sheet in self._sheets.values())))

    def causes(self) -> dict[str, int]:
        """How many decisions this process has made without the store, by cause."""
        total = self._uncounted.copy()
        for rule, sums in self.since_start().items():
            total.update({cause: count for cause, count in sums.reasons.items() if rule != ALL and cause.startswith("store:")})
        return dict(total)

    def _copies(self, unsent_alone: bool = False) -> dict[int, Sheet]:
        """The sheets by minute as they are now, with who was refused. Requests wait only while they are pickled, which takes a
        fraction of what a deep copy takes, or saying who was refused."""
        with self._lock:
            wanted = {minute: sheet for minute, sheet in self._sheets.items() if sheet.is_unsent or not unsent_alone}
            for sheet in wanted.values():
                self._count_pending(sheet)
            pickled = {minute: pickle.dumps(sheet) for minute, sheet in wanted.items()}
        return {minute: pickle.loads(each) for minute, each in pickled.items()}

    def _count_pending(self, sheet: Sheet) -> None:
        refusals = sheet.count_pending()
        for observe in self.observers:
            observe(refusals)

    def _line(self, sheet: Sheet, rule: str) -> Line:
        line = Line(next((earlier.lines[rule] for earlier in reversed(self._sheets.values()) if rule in earlier.lines), None))
        if len(sheet.lines) < MOST_RULES:
            sheet.lines[rule] = line
        else:
            _warn(f"more than {MOST_RULES} rules matched in a minute: the others are not counted")
        return line

    def _open(self, minute: int) -> Sheet:
        for earlier in self._sheets.values():  # an outage of hours takes no more memory than its minutes would, sent
            self._count_pending(earlier)
            earlier.shrink()
        sheet = self._sheets[minute] = Sheet(f"{self._token}.{next(self._serial)}")
        while len(self._sheets) > MOST_MINUTES:
            self._drop(min(self._sheets))
            if not process_clients.in_memory():
                _warn(f"Redis is unavailable for more than {MOST_MINUTES} minutes: the oldest counts are dropped")
        return sheet

    def _drop(self, minute: int) -> None:
        sheet = self._sheets.pop(minute)
        has_room = len(self._gone) < MOST_GONE
        over = (
            (rule if has_room or rule in self._gone else OTHERS, sums._replace(used={})) for rule, sums in sheet.sums().items()
        )
        self._gone = added(chain(self._gone.items(), over))


@lru_cache
def _warn(message: str) -> None:
    """Once."""
    logger.warning("ratewindow: %s", message)


def _by_field(token: str, by_rule: Mapping[str, Value]) -> dict[str, Value]:
    """By the field of each rule, which no other process has, nor a later sheet of this one."""
    return {f"{token}|{rule}": value for rule, value in by_rule.items()}


def _count_decision(line: Line, decision: RuleDecision) -> None:
    outcome = decision.outcome
    if outcome == "passed":
        line.numbers[PASSED] += 1
        counted, near = line.left, 0
        for answer in decision.windows:  # by index, as nearly every request comes here
            window = answer[0]
            name, share = window.most_left, SHARES * answer[1] // (window.at_once or 1)
            left = counted[name] if name in counted else line.left_of(name)
            left[share if share < SHARES else SHARES] += 1
            if share < SCARCE:
                near = 1
        line.numbers[NEAR] += near
    else:
        for place in PLACES[outcome]:
            line.numbers[place] += 1
        for answer in decision.windows if outcome in REFUSING else ():
            if answer.refuses:
                line.left_of(answer.window.most_left)[OVER] += 1
    if decision.reason:
        _explain(line, decision)
    if decision.took_s:
        _count_time(line.spans, decision.took_s)


def _explain(line: Line, decision: RuleDecision) -> None:
    """Count why a request was refused, or decided without the store."""
    if decision.outcome == "refused":
        _count(line, decision.reason)
    if decision.cause:
        _count(line, decision.cause)
        line.numbers[FALLBACK] += 1


def _count(line: Line, reason: str) -> None:
    if reason in line.reasons or len(line.reasons) < MOST_NAMES:
        line.reasons[reason] = line.reasons.get(reason, 0) + 1


def _count_time(spans: list[int], took_s: float) -> None:
    """Count a time in one of the spans of `latency`; longer times count in the last. Runs for every decision."""
    took_us = int(took_s * 1e6)
    try:
        spans[(took_us * took_us).bit_length()] += 1  # the integer part of the logarithm
    except IndexError:
        spans[-1] += 1


counters = Counters()  # of this process
