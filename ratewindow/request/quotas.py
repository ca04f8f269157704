"""Quotas: limits by the month, and soft ones, of which the site is told when a client has used 75, 90 or 100 %.

It is told within the request that finds so much used, once over all processes for each client, rule, window, limit and
percentage. Neither a refund nor a release makes it told again before the window ends.
"""

from collections.abc import Awaitable, Callable, Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

from ratewindow.limiter.types import Decision, RuleDecision, WindowAnswer
from ratewindow.models import RateRule
from ratewindow.request.prepare import Question
from ratewindow.request.told_once import Claim, afirst, claim, first
from ratewindow.signals import quota_reached


def tell(parts: Iterable[RuleDecision], decide: Callable[[Question], Decision]) -> None:
    """Send `quota_reached` for what these decisions have found, unless somebody else has."""
    for told, reached in _reached(parts):
        if first(told, decide):
            quota_reached.send_robust(RateRule, **reached)


async def atell(parts: Iterable[RuleDecision], adecide: Callable[[Question], Awaitable[Decision]]) -> None:
    """`tell`, awaited."""
    for told, reached in _reached(parts):
        if await afirst(told, adecide):
            await quota_reached.asend_robust(RateRule, **reached)


def _reached(parts: Iterable[RuleDecision]) -> Iterator[tuple[Claim, dict[str, Any]]]:
    for part in parts:
        for answer in part.windows if part.made_by is not None and part.mode != "shadow" else ():
            if _is_quota(part, answer):
                yield from _of_window(part, answer)


def _is_quota(part: RuleDecision, answer: WindowAnswer) -> bool:
    """Whether to look at how much is used. A window that begins with the first hit is told from the next one by when it ends,
    which only a charge says exactly."""
    window, is_soft = answer.window, part.mode == "soft" and answer.window.algorithm == "fixed_window"
    is_told = window.aligned_to == "month" or (is_soft and (window.aligned_to != "" or answer.charged_at_ms >= 0))
    return is_told and window.limit > 0


def _of_window(part: RuleDecision, answer: WindowAnswer) -> Iterator[tuple[Claim, dict[str, Any]]]:
    window, used, identity = answer.window, answer.used, part.check.identity if part.check is not None else ""
    ends_ms = answer.reset_ms + (answer.charged_at_ms if answer.charged_at_ms >= 0 else round(1000 * part.at_s))
    which = "" if window.aligned_to else f" until {ends_ms}"
    for percent in (75, 90, 100):
        if 100 * used >= percent * window.limit:
            yield (
                claim(part.rule, window, window, f"{percent}% of {window.limit}{which}: {identity}"),
                {
                    "rule": part.rule,
                    "identity": identity,
                    "percent": percent,
                    "limit": window.limit,
                    "used": used,
                    "window": window.text,
                    "ends_at": datetime.fromtimestamp(round(ends_ms / 1000), UTC),
                },
            )
