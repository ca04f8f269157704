"""The reply of a store, and the decision that it makes."""

import random
from collections.abc import Sequence
from functools import partial

from ratewindow.limiter import forks
from ratewindow.limiter.types import Check, Decision, What, WindowAnswer

_answer = partial(tuple.__new__, WindowAnswer)  # of five values in a row, without a step of Python for each
_LETTERS = "23456789abcdefghjkmnpqrstuvwxyz"  # without those that are mistaken for each other
_PAIRS = [first + second for first in _LETTERS for second in _LETTERS]


def tells_verdict(check: Check, what: What) -> bool:
    """Whether the reply has two numbers for the check itself, before those of its windows."""
    return check.counts_refused or check.penalty_ms > 0 or what in ("force", "charge")


def width(check: Check, what: What) -> int:
    """How many numbers of the reply are about this check."""
    told = check.counts_refused or check.penalty_ms > 0 or what in ("force", "charge")  # as `tells_verdict`, without a call
    return 4 * len(check.windows) + (2 if told else 0)


def reply_parts(checks: list[Check], what: What) -> int:
    """How many numbers the whole reply has."""
    return width(checks[0], what) if len(checks) == 1 else sum([width(check, what) for check in checks])


def decision(checks: list[Check], reply: Sequence[int], what: What = "hit") -> Decision:
    """What the reply, as ``lua/decide.lua`` states it, says about the request and each of its rules."""
    first = checks[0]
    if first.enforce and (len(reply) == 4 or (len(checks) == 1 and len(reply) == 4 * len(first.windows))):
        return _usual(first, reply)
    parts, at = [], 0
    for check in checks:
        numbers = reply[at : at + width(check, what)]
        at += len(numbers)
        is_usual = check.enforce and len(numbers) == 4 * len(check.windows)
        parts.append(_usual(check, numbers) if is_usual else _part(check, numbers, what))
    if not all(parts):
        code = refusal_code()
        for part in parts:
            if part.allowed:
                part.outcome = "other"
            else:
                part.id = code
    return Decision.of(parts)


def _usual(check: Check, reply: Sequence[int]) -> Decision:
    """The same for one check that enforces and tells no verdict: in few steps, since nearly all are this."""
    windows: tuple[WindowAnswer, ...]
    if len(reply) == 4:
        window = check[1][0]
        remaining, wait_ms, reset_ms, charged_at_ms = reply
        windows = (WindowAnswer(window, remaining, wait_ms, reset_ms, charged_at_ms),)
    else:
        windows = _answers(check, reply)
        window, remaining, wait_ms, reset_ms, _ = _deciding(windows)
    limit, reset_s, rule, text = window.limit, reset_ms / 1000, check[0], window.text
    if not wait_ms:
        return Decision(True, limit, remaining, None, reset_s, rule, text, "", "enforce", False, "", "passed", windows, (), check)
    wait_s, reason = (wait_ms / 1000, "limit") if wait_ms > 0 else (None, "limit" if not limit else "cost")
    code, reset_s = refusal_code(), max(reset_s, wait_s or 0)
    return Decision(
        False, limit, remaining, wait_s, reset_s, rule, text, reason, "enforce", False, code, "refused", windows, (), check
    )


_codes = random.Random()  # anew after a fork: workers that went on from the same state would give the same codes
forks.after_fork(_codes.seed)


def refusal_code() -> str:
    """Five letters and digits that a person can read out over the telephone."""
    number = _codes.getrandbits(40)  # no secret; looked up in pairs, since a client that hammers gets a new one each time
    return _PAIRS[number % len(_PAIRS)] + _PAIRS[(number >> 12) % len(_PAIRS)] + _LETTERS[(number >> 24) % len(_LETTERS)]


def _answers(check: Check, reply: Sequence[int]) -> tuple[WindowAnswer, ...]:
    """Those of its windows, four numbers each."""
    numbers = iter(reply)
    return tuple(map(_answer, zip(check.windows, numbers, numbers, numbers, numbers)))  # noqa: B905


def _deciding(answers: tuple[WindowAnswer, ...]) -> WindowAnswer:
    """The one that a decision describes: with the longest wait, else with the least room."""
    told = answers[0]
    _, remaining, wait_ms, reset_ms, _ = told
    for answer in answers[1:]:
        _, room, wait, reset, _ = answer
        if wait_ms or wait:
            if wait and (not wait_ms or _longer(wait, wait_ms)):
                told, wait_ms = answer, wait
        elif room < remaining or (room == remaining and reset > reset_ms):
            told, remaining, reset_ms = answer, room, reset
    return told


def _part(check: Check, numbers: Sequence[int], what: What) -> Decision:
    verdict, lock_wait_ms = -1, 0
    if len(numbers) > 4 * len(check.windows):
        verdict, lock_wait_ms, *numbers = numbers
    answers = _answers(check, numbers)
    window, remaining, wait_ms, reset_ms, _ = _deciding(answers)
    refuses = wait_ms != 0 if verdict < 0 else verdict > 0
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
        answers,
        (),
        check,
    )


def _longer(wait_ms: int, than_ms: int) -> bool:
    """-1 is for ever."""
    return than_ms >= 0 and (wait_ms < 0 or wait_ms > than_ms)
