"""The headers that tell clients of their limits: one function for each family that HEADERS may choose."""

import math
from collections.abc import Callable
from functools import lru_cache

from django.http import HttpResponseBase

from ratewindow import conf
from ratewindow.limiter.types import Decision, Window

MOST = 10**15 - 1  # what a structured field can say


def write(response: HttpResponseBase, decision: Decision) -> None:
    """Add the headers of a decision. What the view has set itself stays as it is."""
    # What `response.headers[name] = value` does, without its checks of the value: names of rules and whole
    # numbers are ASCII, and the checks cost as much as everything else here.
    store = response.headers._store
    for family in conf.current().headers:
        for name, value in _FAMILIES[family](decision):
            store.setdefault(name.lower(), (name, value))


def retry_after_s(decision: Decision) -> int | None:
    """Whole seconds to wait, at least one: clients raise on fractions. None when waiting does not help."""
    return None if decision.retry_after is None else max(1, math.ceil(decision.retry_after))


def _ratelimit(decision: Decision) -> list[tuple[str, str]]:
    """``RateLimit-Policy`` and ``RateLimit`` in the syntax of draft-ietf-httpapi-ratelimit-headers-11."""
    policies, limits = [], []
    for part in decision.decisions:
        if part.mode != "enforce":
            continue
        windows = part.windows
        for window, remaining, wait_ms, reset_ms, _ in windows:
            policy, begins, period = _named(part.rule, window, len(windows) > 1)
            policies.append(policy)
            if part.reason == "penalty":  # locked out, whatever room the windows have
                limits.append(f"{begins}0;t={retry_after_s(part)}")
            elif remaining:
                limits.append(f"{begins}{remaining if remaining < MOST else MOST}{period}")
            elif wait_ms < 0 or not reset_ms:
                limits.append(f"{begins}0")
            else:
                limits.append(f"{begins}0;t={-(-(wait_ms or reset_ms) // 1000)}")
    return [("RateLimit-Policy", ", ".join(policies)), ("RateLimit", ", ".join(limits))] if policies else []


@lru_cache(maxsize=1024)
def _named(rule: str, window: Window, is_one_of_several: bool) -> tuple[str, str, str]:
    """What is always the same: the policy of a window, how its limit begins, and how that ends while units are left."""
    name = f"{rule}:{window.text}" if is_one_of_several else rule
    period_s = -(-window.period_ms // 1000)
    return f'"{name}";q={min(window.limit, MOST)};w={period_s}', f'"{name}";r=', f";t={period_s}"


def _x_ratelimit(decision: Decision) -> list[tuple[str, str]]:
    """The older trio, for the window closest to exhaustion; Reset is an epoch second, as GitHub sends it."""
    if decision.limit is None:
        return []
    # From the time before the call, in whole milliseconds: so the second is the same over a burst.
    reset_s = math.ceil((math.floor(decision.at_s * 1000) + (decision.reset_after or 0) * 1000) / 1000)
    return [
        ("X-RateLimit-Limit", str(decision.limit)),
        ("X-RateLimit-Remaining", str(decision.remaining)),
        ("X-RateLimit-Reset", str(reset_s)),
    ]


_FAMILIES: dict[str, Callable[[Decision], list[tuple[str, str]]]] = {
    "ratelimit": _ratelimit,
    "x-ratelimit": _x_ratelimit,
}
