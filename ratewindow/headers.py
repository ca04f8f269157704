"""The headers that tell clients of their limits: one function for each family that HEADERS may choose."""

import math
from collections.abc import Callable, Iterator

from django.http import HttpResponseBase

from ratewindow import conf
from ratewindow.limiter.types import Decision, WindowAnswer

MOST = 10**15 - 1  # what a structured field can say


def write(response: HttpResponseBase, decision: Decision) -> None:
    """Add the headers of a decision. What the view has set itself stays as it is."""
    for family in conf.current().headers:
        for name, value in _FAMILIES[family](decision):
            response.headers.setdefault(name, value)


def retry_after_s(decision: Decision) -> int | None:
    """Whole seconds to wait, at least one: clients raise on fractions. None when waiting does not help."""
    return None if decision.retry_after is None else max(1, math.ceil(decision.retry_after))


def _policies(decision: Decision) -> Iterator[tuple[str, WindowAnswer]]:
    """Each window that is enforced, under the rule's name; with several windows also with its rate."""
    for part in decision.decisions:
        if part.mode == "enforce":
            for answer in part.windows:
                yield (part.rule if len(part.windows) == 1 else f"{part.rule}:{answer.window.text}"), answer


def _ratelimit(decision: Decision) -> Iterator[tuple[str, str]]:
    """``RateLimit-Policy`` and ``RateLimit`` in the syntax of draft-ietf-httpapi-ratelimit-headers-11."""
    policies, limits = [], []
    for name, (window, remaining, wait_ms, reset_ms, _) in _policies(decision):
        period_s = -(-window.period_ms // 1000)
        policies.append(f'"{name}";q={min(window.limit, MOST)};w={period_s}')
        if remaining:
            limits.append(f'"{name}";r={min(remaining, MOST)};t={period_s}')
        elif wait_ms < 0 or not reset_ms:
            limits.append(f'"{name}";r=0')
        else:
            limits.append(f'"{name}";r=0;t={-(-(wait_ms or reset_ms) // 1000)}')
    if policies:
        yield "RateLimit-Policy", ", ".join(policies)
        yield "RateLimit", ", ".join(limits)


def _x_ratelimit(decision: Decision) -> Iterator[tuple[str, str]]:
    """The older trio, for the window closest to exhaustion; Reset is an epoch second, as GitHub sends it."""
    if decision.limit is None:
        return
    yield "X-RateLimit-Limit", str(decision.limit)
    yield "X-RateLimit-Remaining", str(decision.remaining)
    # From the time before the call, in whole milliseconds: so the second is the same over a burst.
    yield "X-RateLimit-Reset", str(math.ceil((math.floor(decision.at_s * 1000) + (decision.reset_after or 0) * 1000) / 1000))


_FAMILIES: dict[str, Callable[[Decision], Iterator[tuple[str, str]]]] = {
    "ratelimit": _ratelimit,
    "x-ratelimit": _x_ratelimit,
}
