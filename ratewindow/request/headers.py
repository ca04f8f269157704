"""The headers that tell clients of their limits: one function for each family that HEADERS may choose."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache

from django.http import HttpResponseBase

from ratewindow import conf
from ratewindow.limiter.types import Decision, Window, WindowAnswer

MOST = 10**15 - 1  # what a structured field can say
MOST_TOLD = 16  # windows in a header, with the longest names 2 kB: a proxy whose buffer they fill answers 502
MOST_LATE_MS = 1000  # a charge later than this after it was asked for is one by another clock


def write(response: HttpResponseBase, decision: Decision) -> None:
    """Add the headers of a decision. What the view has set itself stays as it is."""
    # What `response.headers[name] = value` does, without its checks of the value: names of rules and whole
    # numbers are ASCII, and the checks cost as much as everything else here.
    store = response.headers._store
    wait_s = _seconds(store["retry-after"][1]) if "retry-after" in store else None
    for family in conf.current().headers:
        for name, value in _FAMILIES[family](decision, wait_s):
            store.setdefault(name.lower(), (name, value))


def retry_after_s(decision: Decision, blocking: Sequence[Decision] = ()) -> int | None:
    """Whole seconds to wait, at least one: clients raise on fractions. None when waiting does not help.

    Where one door took the last unit of a rule before another refused, the next request needs both: `blocking` are the
    decisions of all doors that it has to pass.
    """
    if decision.retry_after is None:
        return None
    return max(1, math.ceil(decision.retry_after), *(-(-each // 1000) for each in _used_up_ms([*decision.parts, *blocking])))


def _used_up_ms(parts: Iterable[Decision]) -> Iterator[int]:
    """How long the windows stay without room that have given this request their last unit."""
    for part in parts:
        if part.allowed and part.mode == "enforce" and not _only_looked(part):
            for answer in part.windows:
                if not answer.remaining:
                    yield answer.free_ms


def _only_looked(part: Decision) -> bool:
    """Whether a rule that costs nothing was asked, which refuses nobody however full it is."""
    return part.check is not None and not part.check.cost


def _seconds(retry_after: str) -> int | None:
    """A view may have set a date."""
    return int(retry_after) if retry_after.isdecimal() else None


def _ratelimit(decision: Decision, wait_s: int | None) -> list[tuple[str, str]]:
    """``RateLimit-Policy`` and ``RateLimit`` in the syntax of draft-ietf-httpapi-ratelimit-headers-11.

    It has no `t` later than the answer's Retry-After: that of a rule which lets the client come back sooner, whatever
    is left of it, would only contradict.
    """
    policies, limits = [], []
    for part in decision.decisions:
        if part.mode != "enforce":
            continue
        windows = part.windows
        for answer in windows:
            window, remaining, wait_ms, *_ = answer
            policy, begins, period_s = _named(part.rule, window, len(windows) > 1)
            policies.append(policy)
            if part.reason == "penalty":  # locked out, whatever room the windows have
                remaining, t_s = 0, retry_after_s(part)
            elif remaining:
                remaining, t_s = remaining if remaining < MOST else MOST, period_s
            else:
                t_s = None if wait_ms == -1 else -(-answer.free_ms // 1000)
            is_told = t_s and (wait_s is None or t_s <= wait_s)
            limits.append(f"{begins}{remaining};t={t_s}" if is_told else f"{begins}{remaining}")
    if len(policies) > MOST_TOLD:
        policies, limits = _closest(decision, policies), _closest(decision, limits)
    return [("RateLimit-Policy", ", ".join(policies)), ("RateLimit", ", ".join(limits))] if policies else []


def _closest(decision: Decision, told: list[str]) -> list[str]:
    """Of what is told of very many windows, that of those which refuse or have the least room."""
    parts = [part for part in decision.decisions if part.mode == "enforce"]
    ranks = [
        (part.reason != "penalty" and not answer.refuses, answer.remaining, number)
        for number, (part, answer) in enumerate((part, answer) for part in parts for answer in part.windows)
    ]
    return [told[number] for number in sorted(number for *_, number in sorted(ranks)[:MOST_TOLD])]


@lru_cache(maxsize=1024)
def _named(rule: str, window: Window, is_one_of_several: bool) -> tuple[str, str, int]:
    """What is always the same: the policy of a window, how its limit begins, and its length in whole seconds."""
    name = f"{rule}:{window.text}" if is_one_of_several else rule
    period_s = -(-window.period_ms // 1000)
    return f'"{name}";q={min(window.limit, MOST)};w={period_s}', f'"{name}";r=', period_s


def _x_ratelimit(decision: Decision, wait_s: int | None) -> list[tuple[str, str]]:
    """The older trio, for the window closest to exhaustion; Reset is an epoch second, as GitHub sends it."""
    if decision.limit is None:
        return []
    return [
        ("X-RateLimit-Limit", str(decision.limit)),
        ("X-RateLimit-Remaining", str(decision.remaining)),
        ("X-RateLimit-Reset", str(_reset_epoch_s(decision))),
    ]


def _reset_epoch_s(decision: Decision) -> int:
    """From the time before the call, in whole milliseconds, and rounded up; the same over a burst.

    The server's clock has gone on a little by then, each time another little. Where it is known that units leave
    at certain times only, the nearest of these is meant; else the time of the charge, if there was one, says how much.
    """
    wait_ms, answer = _wait_ms(decision), _deciding(decision)
    asked_ms = math.floor(decision.at_s * 1000)
    at_ms = asked_ms + wait_ms
    if answer is not None and wait_ms and decision.reason != "penalty":
        step_ms, first_ms = answer.window.edges_ms
        if step_ms:
            at_ms = (at_ms - first_ms + step_ms // 2) // step_ms * step_ms + first_ms
        elif 0 <= answer.charged_at_ms - asked_ms < MOST_LATE_MS:
            at_ms += answer.charged_at_ms - asked_ms
    return -(-at_ms // 1000)


def _draft_6(decision: Decision, wait_s: int | None) -> list[tuple[str, str]]:
    """Draft 6 and before: three headers for the window closest to exhaustion; Reset is seconds from now."""
    if decision.limit is None:
        return []
    told = [("RateLimit-Limit", str(decision.limit)), ("RateLimit-Remaining", str(decision.remaining))]
    reset_s = _reset_s(decision)
    return told if reset_s is None else [*told, ("RateLimit-Reset", str(reset_s))]


def _draft_7(decision: Decision, wait_s: int | None) -> list[tuple[str, str]]:
    """Draft 7: the same three as one header, and the quotas of all windows as another."""
    if decision.limit is None:
        return []
    reset_s = _reset_s(decision)
    told = f"limit={decision.limit}, remaining={decision.remaining}"
    policies = [
        f"{window.limit};w={-(-window.period_ms // 1000)}"
        for part in decision.decisions
        if part.mode == "enforce"
        for window, *_ in part.windows
    ]
    if len(policies) > MOST_TOLD:
        policies = _closest(decision, policies)
    return [
        ("RateLimit-Policy", ", ".join(policies)),
        ("RateLimit", told if reset_s is None else f"{told}, reset={reset_s}"),
    ]


def _reset_s(decision: Decision) -> int | None:
    """As `t` of the newest draft: the window's length while units are left, else, or where they are too few, the exact
    wait; None: waiting is no use."""
    answer = _deciding(decision)
    if decision.remaining and decision.allowed and answer is not None:
        return -(-answer.window.period_ms // 1000)
    wait_ms = _wait_ms(decision)
    return -(-wait_ms // 1000) if wait_ms else None


def _wait_ms(decision: Decision) -> int:
    """When who was refused is admitted, else when more is left next."""
    if decision.retry_after is not None:
        return round(decision.retry_after * 1000)
    return round((decision.reset_after or 0) * 1000)


def _deciding(decision: Decision) -> WindowAnswer | None:
    """What was told of the window that the decision's own numbers are about."""
    if len(decision.windows) == 1:
        return decision.windows[0]
    return next((answer for answer in decision.windows if answer.window.text == decision.window), None)


_FAMILIES: dict[str, Callable[[Decision, int | None], list[tuple[str, str]]]] = {
    "ratelimit": _ratelimit,
    "x-ratelimit": _x_ratelimit,
    "ratelimit-draft-6": _draft_6,
    "ratelimit-draft-7": _draft_7,
}
