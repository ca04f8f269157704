"""The reply of a store as one value, read once from the numbers of ``lua/decide.lua``; the decision that it makes; and refusals
that a process remembers, so that a client that hammers is refused without a call of the server each time."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple
from zlib import crc32

from ratewindow.limiter import forks
from ratewindow.limiter.types import Check, Decision, RuleDecision, What, WindowAnswer

NO_VERDICT = -1

BELIEVED_MS = 1000
MOST_KNOWN = 10_000
MOST_MS = 2**53


class Answer(NamedTuple):
    """How one check stood after a call. Milliseconds count from the call."""

    verdict: int  # 0 = had room, 1 = was full, 2 = was locked; NO_VERDICT where the waits of the windows say it
    lock_wait_ms: int
    windows: tuple[WindowAnswer, ...]

    @property
    def refuses(self) -> bool:
        if self.verdict == NO_VERDICT:
            return any(wait_ms for _, _, wait_ms, _, _ in self.windows)
        return self.verdict > 0


Reply = list[Answer]  # one for each check

_answer = partial(tuple.__new__, Answer)  # of all values in a row, without a step of Python for each
_window_answer = partial(tuple.__new__, WindowAnswer)


def tells_verdict(check: Check, what: What) -> bool:
    """Whether the reply has two numbers for the check itself, before those of its windows."""
    return check.counts_refused or check.penalty_ms != 0 or what in ("force", "charge")


def length(checks: Sequence[Check], what: What) -> int:
    """How many numbers the reply to these checks has."""
    return sum([4 * len(check.windows) + 2 * tells_verdict(check, what) for check in checks])


def parse(checks: Sequence[Check], numbers: list[int], what: What = "hit") -> Reply:
    """The numbers, as many as `length` says, as answers."""
    if len(numbers) == 4:  # nearly always: one check of one window
        return [_answer((NO_VERDICT, 0, (_window_answer((checks[0][1][0], *numbers)),)))]
    reply, rest = [], iter(numbers)
    for check in checks:
        verdict, lock_wait_ms = (next(rest), next(rest)) if tells_verdict(check, what) else (NO_VERDICT, 0)
        windows = tuple(map(_window_answer, zip(check.windows, rest, rest, rest, rest)))  # noqa: B905
        reply.append(_answer((verdict, lock_wait_ms, windows)))
    return reply


def shortened(reply: Reply, passed_ms: int) -> Reply:
    """The same reply so many milliseconds later: every time is shorter, but for -1, which is never."""
    later = []
    for verdict, lock_wait_ms, answers in reply:
        windows = []
        for window, remaining, wait_ms, reset_ms, charged_at_ms in answers:
            wait_ms = wait_ms - passed_ms if wait_ms > passed_ms else min(wait_ms, 0)
            reset_ms = reset_ms - passed_ms if reset_ms > passed_ms else 0
            windows.append(_window_answer((window, remaining, wait_ms, reset_ms, charged_at_ms)))
        lock_wait_ms = lock_wait_ms - passed_ms if lock_wait_ms > passed_ms else 0
        later.append(_answer((verdict, lock_wait_ms, tuple(windows))))
    return later


def decision(checks: Sequence[Check], reply: Reply, what: What = "hit") -> Decision:
    """What the reply says about the request and each of its rules."""
    if len(reply) == 1:  # nearly always
        check, (verdict, _, windows) = checks[0], reply[0]
        if verdict == NO_VERDICT and check[4]:
            return _usual(check, windows)
    parts = [_part(check, answer, what) for check, answer in zip(checks, reply, strict=True)]
    if refusing := [check for check, part in zip(checks, parts, strict=True) if not part.allowed]:
        code = refusal_code(refusing[0].keys[0])
        for part in parts:
            if part.allowed:
                part.outcome = "other"
            else:
                part.id = code
    return Decision.of(parts)


def _usual(check: Check, windows: tuple[WindowAnswer, ...]) -> RuleDecision:
    """`_part` of a check that enforces and tells no verdict, in few steps, since nearly all are this."""
    window, remaining, wait_ms, reset_ms, _ = windows[0] if len(windows) == 1 else deciding(windows)
    limit, reset_s, rule, rate = window.limit, reset_ms / 1000, check[0], window.text
    if not wait_ms:
        return RuleDecision(True, limit, remaining, None, reset_s, rule, rate, "", "enforce", False, "", "passed", windows, check)
    wait_s, reason = (wait_ms / 1000, "limit") if wait_ms > 0 else (None, "limit" if not limit else "cost")
    code, reset_s = refusal_code(check[2][0]), max(reset_s, wait_s or 0)
    return RuleDecision(
        False, limit, remaining, wait_s, reset_s, rule, rate, reason, "enforce", False, code, "refused", windows, check
    )


def _part(check: Check, answer: Answer, what: What) -> RuleDecision:
    verdict, lock_wait_ms, windows = answer
    if check.enforce and verdict == NO_VERDICT:
        return _usual(check, windows)
    window, remaining, wait_ms, reset_ms, _ = deciding(windows)
    refuses = wait_ms != 0 if verdict == NO_VERDICT else verdict > 0
    forced = refuses and what in ("force", "charge")
    reason = ""
    if refuses:
        reason = "limit" if wait_ms > 0 or (wait_ms < 0 and not window.limit) else "cost" if wait_ms < 0 else "penalty"
    if lock_wait_ms:
        remaining = 0
        if lock_wait_ms > wait_ms >= 0:
            wait_ms, reason = lock_wait_ms, "penalty" if refuses else ""
    mode, passed = "enforce" if check.enforce else "shadow", forced or not refuses
    return RuleDecision(
        passed or not check.enforce,
        window.limit,
        remaining,
        wait_ms / 1000 if wait_ms > 0 and not forced else None,
        max(reset_ms, wait_ms) / 1000,
        check.rule,
        window.text,
        "" if forced else reason,
        mode,
        forced,
        "",
        "passed" if passed else "refused" if check.enforce else "would_refuse",
        windows,
        check,
    )


def deciding(answers: tuple[WindowAnswer, ...]) -> WindowAnswer:
    """The one that a decision describes: with the longest wait, else with the least room."""
    deciding = answers[0]
    _, remaining, wait_ms, reset_ms, _ = deciding
    for answer in answers[1:]:
        _, room, wait, reset, _ = answer
        if wait_ms or wait:
            if wait and wait_ms >= 0 and (wait < 0 or wait > wait_ms):  # -1 never ends
                deciding, wait_ms = answer, wait
        elif room < remaining or (room == remaining and reset > reset_ms):
            deciding, remaining, reset_ms = answer, room, reset
    return deciding


LETTERS = "23456789abcdefghjkmnpqrstuvwxyz"  # without those that are mistaken for each other
_PAIRS = [first + second for first in LETTERS for second in LETTERS]


def refusal_code(about: str) -> str:
    """Five letters and digits that a person can read out over the telephone: for an hour the same in every process.

    `about` is what one rule counts one client by: with Django a keyed digest, which a code does not reveal. So a checksum of it
    does, which is as fast as the look-up in pairs.
    """
    number = crc32(about.encode(), int(time.time()) // 3600)
    return _PAIRS[number % 961] + _PAIRS[number // 961 % 961] + LETTERS[number // 961**2 % 31]


class Refusals:
    """Replies that refused, believed until their wait is over, and at most `believed_ms`.

    So nothing is ever admitted that the server would refuse, and nothing is refused for longer than
    `believed_ms` that the server would admit: after a refund or a reset elsewhere, an edit, lost data, or a
    step of the server's clock. A refusal is believed from before the call of the server, and its wait grows shorter
    from when the reply was there: so a client that waits exactly so long is admitted.
    Thread-safe; it knows at most `MOST_KNOWN` refusals and forgets the oldest first.
    """

    def __init__(self, believed_ms: int = BELIEVED_MS, clock_ms: Callable[[], int] | None = None) -> None:
        self._believed_ms, self._by_callers_clock = believed_ms, clock_ms is not None  # by which the server decides, too
        self.clock_ms: Callable[[], float] = clock_ms or (lambda: time.monotonic_ns() / 1_000_000)
        self._lock = threading.Lock()
        forks.renew_lock_after_fork(self)
        self.known: OrderedDict[tuple[Check, ...], tuple[float, float, float, Reply]] = OrderedDict()

    def recall(self, checks: list[Check], now_ms: float) -> Decision | None:
        """The decision on a hit at `now_ms` that is known to be refused, with its times as they are; None: ask the server."""
        known = self.known.get(tuple(checks))
        if known is None:
            return None
        asked_ms, until_ms, replied_ms, reply = known
        if not asked_ms <= now_ms < until_ms:
            self.known.pop(tuple(checks), None)
            return None
        return decision(checks, shortened(reply, max(0, int(now_ms - replied_ms))))

    def learn(self, checks: list[Check], reply: Reply, asked_ms: float) -> None:
        """Remember the reply, which has just come, to a hit of `asked_ms`, if it will stay a refusal for a while."""
        wait_ms = _lasting_wait_ms(checks, reply)
        if wait_ms > 0 and self._believed_ms:
            until_ms = asked_ms + min(wait_ms, self._believed_ms)
            replied_ms = asked_ms if self._by_callers_clock else self.clock_ms()
            with self._lock:
                self.known[tuple(checks)] = (asked_ms, until_ms, replied_ms, reply)
                if len(self.known) > MOST_KNOWN:
                    self.known.popitem(last=False)

    def forget(self) -> None:
        """Believe no refusal any more: units were refunded, or charged beyond what is full."""
        with self._lock:
            self.known.clear()


def _lasting_wait_ms(checks: list[Check], reply: Reply) -> int:
    """How long the server will go on refusing, whatever others do; 0 when that is not sure.

    It is when every request costs 1, the window of the longest wait has no room left, and asking again would
    change nothing: no refused request is counted, and no client is locked out.
    """
    longest, remaining_then, soonest_unlocked = 0, 0, MOST_MS
    for check, (verdict, lock_wait_ms, windows) in zip(checks, reply, strict=True):
        if check.cost != 1 or check.counts_refused:
            return 0
        if verdict == 0:
            return 0  # it may become full, and would lock the client out then
        if verdict != NO_VERDICT:
            soonest_unlocked = min(soonest_unlocked, lock_wait_ms)  # a refusal after that locks again
            if check.enforce and lock_wait_ms > longest:
                longest, remaining_then = lock_wait_ms, 0
        for window in windows:
            if check.enforce and window.wait_ms > longest:
                longest, remaining_then = window.wait_ms, window.remaining
    return 0 if remaining_then else min(longest, soonest_unlocked)
