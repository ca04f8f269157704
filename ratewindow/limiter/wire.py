"""Checks as a command for Redis, and its reply as a decision: pure, and the same for sync and async."""

import secrets
from collections.abc import Sequence

from ratewindow.limiter.scripts import Script
from ratewindow.limiter.types import Check, Decision, WindowAnswer

_CODE_LETTERS = "23456789abcdefghjkmnpqrstuvwxyz"  # without those that are mistaken for each other


def merged(checks: list[Check]) -> list[Check]:
    """The checks with no state key twice: one window met twice is charged once, with the larger cost.

    An enforcing check wins over one in shadow. A check that is left without windows is answered by the
    one that took them, and has gone from the list.
    """
    keys = [key for check in checks for key in check.keys]
    if len(set(keys)) == len(keys):
        return checks
    cost = {key: max(check.cost for check in checks if key in check.keys) for key in keys}
    taken: set[str] = set()
    kept = []
    for check in sorted(checks, key=lambda check: not check.enforce):
        own = {}
        for window, key in zip(check.windows, check.keys, strict=True):
            if key not in taken and (key not in own or window.limit < own[key].limit):
                own[key] = window
        taken.update(own)
        if own:
            kept.append(check._replace(windows=tuple(own.values()), keys=tuple(own), cost=max(cost[key] for key in own)))
    return kept


def command(script: Script, checks: list[Check], charge: bool, now_ms: int | None, by_sha: bool = True) -> list[str | int]:
    """EVALSHA, or EVAL, with the KEYS and ARGV that ``lua/decide.lua`` states."""
    keys: list[str | int] = []
    arguments: list[str | int] = ["hit" if charge else "peek", "" if now_ms is None else now_ms]
    for check in checks:
        keys += check.keys
        windows = check.windows
        arguments += (check.cost, len(windows) if check.enforce else -len(windows))
        for window in windows:
            arguments += (window.algorithm, window.limit, window.period_ms, window.parameter)
    head: list[str | int] = ["EVALSHA", script.sha] if by_sha else ["EVAL", script.source]
    return [*head, len(keys), *keys, *arguments]


def decision(checks: list[Check], reply: Sequence[int]) -> Decision:
    """What the reply, three numbers for each window, says about the request and each of its rules."""
    parts, at, refused = [], 0, False
    for check in checks:
        answers = []
        for window in check.windows:
            answers.append(WindowAnswer(window, reply[at], reply[at + 1], reply[at + 2]))
            at += 3
        part = _part(check, answers)
        refused = refused or not part.allowed
        parts.append(part)
    if refused:
        code = refusal_code()
        for part in parts:
            if part.allowed:
                part.outcome = "other"
            else:
                part.id = code
    return Decision.of(parts)


def refusal_code() -> str:
    """Five letters and digits that a person can read out over the telephone."""
    return "".join(secrets.choice(_CODE_LETTERS) for _ in range(5))


def _part(check: Check, answers: list[WindowAnswer]) -> Decision:
    deciding, full = answers[0], False
    for answer in answers:
        if answer.wait_ms:
            if not full or _longer(answer, deciding):
                deciding, full = answer, True
        elif not full and (answer.remaining, -answer.reset_ms) < (deciding.remaining, -deciding.reset_ms):
            deciding = answer
    window, remaining, wait_ms, reset_ms = deciding
    enforce = check.enforce
    return Decision(
        not (full and enforce),
        window.limit,
        remaining,
        wait_ms / 1000 if full and wait_ms > 0 else None,
        reset_ms / 1000,
        check.rule,
        window.text,
        ("limit" if wait_ms > 0 or not window.limit else "cost") if full else "",
        "enforce" if enforce else "shadow",
        outcome=("refused" if enforce else "would_refuse") if full else "passed",
        windows=tuple(answers),
    )


def _longer(answer: WindowAnswer, than: WindowAnswer) -> bool:
    return than.wait_ms >= 0 and (answer.wait_ms < 0 or answer.wait_ms > than.wait_ms)
