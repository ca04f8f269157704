"""The reply of a store as one value, read once from the numbers of ``lua/decide.lua``, and the decision that it makes."""

import random
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from ratewindow.limiter import forks
from ratewindow.limiter.types import Check, Decision, What, WindowAnswer

NO_VERDICT = -1


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
    return check.counts_refused or check.penalty_ms > 0 or what in ("force", "charge")


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
    if not all(parts):
        code = refusal_code()
        for part in parts:
            if part.allowed:
                part.outcome = "other"
            else:
                part.id = code
    return Decision.of(parts)


def _usual(check: Check, windows: tuple[WindowAnswer, ...]) -> Decision:
    """`_part` of a check that enforces and tells no verdict, in few steps, since nearly all are this."""
    window, remaining, wait_ms, reset_ms, _ = windows[0] if len(windows) == 1 else _deciding(windows)
    limit, reset_s, rule, rate = window.limit, reset_ms / 1000, check[0], window.text
    if not wait_ms:
        return Decision(True, limit, remaining, None, reset_s, rule, rate, "", "enforce", False, "", "passed", windows, (), check)
    wait_s, reason = (wait_ms / 1000, "limit") if wait_ms > 0 else (None, "limit" if not limit else "cost")
    code, reset_s = refusal_code(), max(reset_s, wait_s or 0)
    return Decision(
        False, limit, remaining, wait_s, reset_s, rule, rate, reason, "enforce", False, code, "refused", windows, (), check
    )


def _part(check: Check, answer: Answer, what: What) -> Decision:
    verdict, lock_wait_ms, windows = answer
    if check.enforce and verdict == NO_VERDICT:
        return _usual(check, windows)
    window, remaining, wait_ms, reset_ms, _ = _deciding(windows)
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
    return Decision(
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
        (),
        check,
    )


def _deciding(answers: tuple[WindowAnswer, ...]) -> WindowAnswer:
    """The one that a decision describes: with the longest wait, else with the least room."""
    deciding = answers[0]
    _, remaining, wait_ms, reset_ms, _ = deciding
    for answer in answers[1:]:
        _, room, wait, reset, _ = answer
        if wait_ms or wait:
            if wait and (not wait_ms or _is_longer(wait, wait_ms)):
                deciding, wait_ms = answer, wait
        elif room < remaining or (room == remaining and reset > reset_ms):
            deciding, remaining, reset_ms = answer, room, reset
    return deciding


def _is_longer(wait_ms: int, than_ms: int) -> bool:
    """Whether one wait is longer than another; -1 never ends."""
    return than_ms >= 0 and (wait_ms < 0 or wait_ms > than_ms)


LETTERS = "23456789abcdefghjkmnpqrstuvwxyz"  # without those that are mistaken for each other
_PAIRS = [first + second for first in LETTERS for second in LETTERS]
_codes = random.Random()
forks.after_fork(_codes.seed)  # else workers would draw the same codes


def refusal_code() -> str:
    """Five letters and digits that a person can read out over the telephone."""
    number = _codes.getrandbits(40)  # no secret; looked up in pairs, since a client that hammers gets a new one each time
    return _PAIRS[number % len(_PAIRS)] + _PAIRS[(number >> 12) % len(_PAIRS)] + LETTERS[(number >> 24) % len(LETTERS)]
