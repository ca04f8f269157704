"""The headers that show clients their limits: one function for each family that HEADERS may choose."""

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from django.http import HttpResponseBase

from ratewindow.limiter.types import Decision, RuleDecision, Window, WindowAnswer

Add = Callable[[str, tuple[str, str]], Any]  # adds a header unless there is one, by its name in lower case

MOST = 10**15 - 1  # what a structured field can say
MOST_WINDOWS = 16  # in a header, with the longest names 2 kB: a proxy whose buffer they fill answers 502
MOST_LATE_MS = 1000  # a charge later than this after the call was made by another clock


def write(response: HttpResponseBase, decision: Decision, families: Sequence[str]) -> None:
    """Add the headers of a decision. What the view has set itself stays as it is."""
    # What `response.headers[name] = value` does, without its checks of the value: names of rules and whole
    # numbers are ASCII, and the checks cost as much as everything else here.
    fields = response.headers._store
    sent = fields["retry-after"][1] if "retry-after" in fields else ""
    wait_s = int(sent) if sent.isdecimal() else None  # a view may have set a date
    for family in families:
        _FAMILIES[family](fields.setdefault, decision, wait_s)


def retry_after_s(decision: Decision) -> int | None:
    """Whole seconds to wait, at least one: clients raise on fractions. None when waiting does not help."""
    return None if decision.retry_after is None else max(1, math.ceil(decision.retry_after))


def _ratelimit(add: Add, decision: Decision, wait_s: int | None) -> None:
    """``RateLimit-Policy`` and ``RateLimit`` in the syntax of draft-ietf-httpapi-ratelimit-headers-11.

    No `t` is later than the answer's Retry-After: that of a rule which lets the client come back sooner, whatever
    is left of it, would only contradict.
    """
    policies, limits = [], []
    for part in decision.parts:
        check = part.check
        if check is None or part.mode != "enforce":  # nothing has been counted, or nobody is refused
            continue
        named = _named(part.rule, check[1])
        for (policy, begins, period_s), (_, remaining, wait_ms, reset_ms, _) in zip(named, part.windows):  # noqa: B905
            policies.append(policy)
            t_s: int | None = period_s
            if part.reason == "penalty":  # locked out, whatever room the windows have
                remaining, t_s = 0, retry_after_s(part)
            elif not remaining:
                t_s = None if wait_ms == -1 else -(-(wait_ms or reset_ms) // 1000)
            remaining = min(remaining, MOST)
            if t_s and (wait_s is None or t_s <= wait_s):
                limits.append(f"{begins}{remaining};t={t_s}")
            else:
                limits.append(f"{begins}{remaining}")
    if policies:
        add("ratelimit-policy", ("RateLimit-Policy", ", ".join(policies[:MOST_WINDOWS])))
        add("ratelimit", ("RateLimit", ", ".join(limits[:MOST_WINDOWS])))


@lru_cache(maxsize=1024)
def _named(rule: str, windows: tuple[Window, ...]) -> tuple[tuple[str, str, int], ...]:
    """What does not change: the policy of each window, how its limit begins, and its length in whole seconds."""
    named = []
    for window in windows:
        name, period_s = f"{rule}:{window.text}" if len(windows) > 1 else rule, -(-window.period_ms // 1000)
        named.append((f'"{name}";q={min(window.limit, MOST)};w={period_s}', f'"{name}";r=', period_s))
    return tuple(named)


def _x_ratelimit(add: Add, decision: Decision, wait_s: int | None) -> None:
    """The older trio, for the window closest to exhaustion; Reset is an epoch second, as GitHub sends it."""
    if decision.limit is not None:
        add("x-ratelimit-limit", ("X-RateLimit-Limit", str(decision.limit)))
        add("x-ratelimit-remaining", ("X-RateLimit-Remaining", str(decision.remaining)))
        add("x-ratelimit-reset", ("X-RateLimit-Reset", str(_reset_epoch_s(decision, wait_s))))


def _reset_epoch_s(decision: Decision, wait_s: int | None) -> int:
    """From the time before the call, in whole milliseconds, and rounded up; the same over a burst, and after a refusal
    not before Retry-After.

    The server's clock has gone on a little by then, each time by another amount. If units leave at certain times only,
    the nearest of these is meant; else the time of the charge, if there was one, says how much.
    """
    wait_ms, deciding = _wait_ms(decision), decision.deciding
    asked_ms = int(1000 * deciding.at_s) if deciding is not None else 0
    at_ms = asked_ms + wait_ms
    answer = _answer(deciding, decision.window) if wait_ms and decision.reason != "penalty" else None
    if answer is not None:
        step_ms, first_ms = answer.window.edges_ms
        if step_ms:
            # Buckets may be those from before an edit until the next charge, whose time is the end of its bucket.
            if answer.window.aligned_to or (answer.charged_at_ms >= 0 and (answer.charged_at_ms + 1) % step_ms == 0):
                at_ms = (at_ms - first_ms + step_ms // 2) // step_ms * step_ms + first_ms
        elif 0 <= answer.charged_at_ms - asked_ms < MOST_LATE_MS:
            at_ms += answer.charged_at_ms - asked_ms
    at_s = -(-at_ms // 1000)
    if wait_s is not None and decision.retry_after is not None:
        at_s = max(at_s, asked_ms // 1000 + wait_s)
    return at_s


def _draft_6(add: Add, decision: Decision, wait_s: int | None) -> None:
    """Draft 6 and before: three headers for the window closest to exhaustion; Reset is seconds from now."""
    if decision.limit is not None:
        add("ratelimit-limit", ("RateLimit-Limit", str(decision.limit)))
        add("ratelimit-remaining", ("RateLimit-Remaining", str(decision.remaining)))
        reset_s = _reset_s(decision, wait_s)
        if reset_s is not None:
            add("ratelimit-reset", ("RateLimit-Reset", str(reset_s)))


def _draft_7(add: Add, decision: Decision, wait_s: int | None) -> None:
    """Draft 7: the same three as one header, and the quotas of all windows as another."""
    if decision.limit is None:
        return
    policies = [
        f"{window.limit};w={-(-window.period_ms // 1000)}"
        for part in decision.parts
        if part.mode == "enforce"
        for window, *_ in part.windows
    ]
    add("ratelimit-policy", ("RateLimit-Policy", ", ".join(policies[:MOST_WINDOWS])))
    reset_s = _reset_s(decision, wait_s)
    limit = f"limit={decision.limit}, remaining={decision.remaining}"
    add("ratelimit", ("RateLimit", limit if reset_s is None else f"{limit}, reset={reset_s}"))


def _reset_s(decision: Decision, wait_s: int | None) -> int | None:
    """As `t` of the newest draft: the window's length while units are left, else, or if they are too few, the exact
    wait. None if waiting does not help."""
    answer = _answer(decision.deciding, decision.window)
    if decision.remaining and decision.allowed and answer is not None:
        return -(-answer.window.period_ms // 1000)
    reset_s = -(-_wait_ms(decision) // 1000)
    if wait_s is not None and decision.retry_after is not None:
        reset_s = max(reset_s, wait_s)
    return reset_s or None


def _wait_ms(decision: Decision) -> int:
    """When who was refused is admitted, else when more is left next."""
    wait_s = decision.retry_after
    return round(1000 * ((decision.reset_after or 0) if wait_s is None else wait_s))


def _answer(deciding: RuleDecision | None, window: str) -> WindowAnswer | None:
    """The answer of the window that a decision's own numbers are about."""
    windows = () if deciding is None else deciding.windows
    return next((answer for answer in windows if answer[0].text == window), None)


_FAMILIES: dict[str, Callable[[Add, Decision, int | None], None]] = {
    "ratelimit": _ratelimit,
    "x-ratelimit": _x_ratelimit,
    "ratelimit-draft-6": _draft_6,
    "ratelimit-draft-7": _draft_7,
}
