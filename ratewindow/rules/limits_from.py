"""Limits from code: functions that a site registers, ``@limits("by plan")``, and from which a rule in the admin takes its limits.

A rule's own limits hold where its function returns None or fails, or where no code registers it.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

from ratewindow.conf import site_functions
from ratewindow.identity.site_answers import Function, SiteFunction, SiteFunctions, Who
from ratewindow.limiter.rates import parse_rates
from ratewindow.limiter.types import Window, too_much
from ratewindow.rules.code_rates import rate_text
from ratewindow.rules.rate_options import said
from ratewindow.rules.rule import Rule, check_soft

_HOLDS = "the rule's own limits hold"
registered = SiteFunctions("limits", _HOLDS)

MOST_KNOWN = 1000  # plans of one rule that are made once


def limits(name: str, *, cache: str | timedelta | None = None) -> Callable[[Function], Function]:
    """Register a function that says how much a client may do, ``@limits("by plan")``, for rules that take their limits from it.

    It is called with the request, once for each; or with the identity that the rule counts, such as ``user:42``, if that is the
    name of its argument. It returns a rate such as ``"100/m; 1000/d"``, a `Window`, a list of these, or None for the rule's own
    limits. A limit as text is counted as the rule's own limit for that period is, so that another plan keeps what was counted.
    It may be async. With ``cache="1m"`` each process remembers for so long what it has returned for an identity. Put it in a
    module ``ratekeys`` of an installed app, which is imported when Django starts. Raises ValueError for a name that belongs to
    another function, or what cannot be cached.
    """
    return registered.decorator(name, cache)


def taken(rule: Rule, who: Who, identity: str) -> Rule:
    """The rule with the limits that its function gives the client of this request, or of this identity; else with its own."""
    function = _function(rule)
    return rule if function is None else _with(function.answer(who, identity, [rule.name]), rule, function)


async def ataken(rule: Rule, who: Who, identity: str) -> Rule:
    """`taken`, awaited; for a request `taken` has its answer then."""
    function = _function(rule)
    return rule if function is None else _with(await function.aanswer(who, identity, [rule.name]), rule, function)


def _function(rule: Rule) -> SiteFunction | None:
    try:
        return registered.named(rule.limits_from)
    except ValueError as error:
        site_functions.failed("limits", rule.limits_from, error, _HOLDS, [rule.name])
        return None


def _with(returned: Any, rule: Rule, function: SiteFunction) -> Rule:
    if returned is None:
        return rule
    known = rule.by_returned
    try:
        returned = tuple(returned) if isinstance(returned, list) else returned
        if (made := known.get(returned)) is not None:
            return made
        windows = _windows(returned, rule.windows)
        check_soft(rule.soft, windows)
    except (TypeError, ValueError) as error:
        function.fail(error, [rule.name])
        return rule
    made = rule.with_windows(windows, rule.limits_from)
    if len(known) < MOST_KNOWN:
        known[returned] = made
    return made


def _windows(returned: Any, own: tuple[Window, ...]) -> tuple[Window, ...]:
    """What a function has returned, as limits. Raises ValueError."""
    is_one = not isinstance(returned, tuple) or all(isinstance(each, int) for each in returned)
    found = tuple(window for each in ([returned] if is_one else returned) for window in _several(each, own))
    if not found:
        raise ValueError(f"{returned!r} limits nothing: return None to mean that")
    if problem := too_much(found):
        raise problem
    return found


def _several(returned: Any, own: tuple[Window, ...]) -> tuple[Window, ...]:
    return (returned,) if isinstance(returned, Window) else like(parse_rates(rate_text(returned)), own)


def like(windows: tuple[Window, ...], own: tuple[Window, ...]) -> tuple[Window, ...]:
    """These limits, each counted as the one of `own` for the same period is, if there is one."""
    by_period = {window.period_ms: window for window in own}
    return tuple(_as(by_period[each.period_ms], each) if each.period_ms in by_period else each for each in windows)


def _as(window: Window, other: Window) -> Window:
    """The other limit, with this one's algorithm and its usual burst, unless this one has its own; or as it is, where the
    algorithm cannot count so many."""
    try:
        return replace(window, limit=other.limit, burst=said(window)["burst"])
    except ValueError:
        return other
