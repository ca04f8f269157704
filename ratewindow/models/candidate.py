"""A rule's candidate: other limits for the same requests, judged in shadow beside those that are enforced."""

from collections.abc import Iterable
from contextlib import suppress
from copy import copy
from datetime import timedelta

from ratewindow.limiter.rates import parse_rates
from ratewindow.limiter.types import Window, too_much
from ratewindow.models.rules import Mode, RateRule
from ratewindow.models.windows import RuleWindow
from ratewindow.rules import rate_options


def candidate_rows(text: str, rows: Iterable[RuleWindow]) -> list[RuleWindow]:
    """The limits of a rule as ``"200/m; 5000/h"`` changes them, unsaved: of each period that the rule limits already the number
    alone, so that it is counted as before; of any other period a new one. Raises ValueError."""
    others = {timedelta(milliseconds=window.period_ms): window for window in parse_rates(text)}
    found = [copy(row) for row in rows]
    for row in found:
        if window := others.get(row.period):
            row.limit = window.limit
    known = {row.period for row in found}
    return found + [
        RuleWindow(limit=window.limit, period=period, **rate_options.said(window))
        for period, window in others.items()
        if period not in known
    ]


def candidate_windows(rule: RateRule) -> tuple[Window, ...]:
    """What is judged beside the rule: nothing unless it is enforced for all clients, and the candidate would change it. Nor
    where refused requests count: the limiter counts those whoever refuses them, and does not say whether there was room."""
    if not rule.candidate or rule.mode != Mode.ENFORCE or rule.enforce_percent != 100 or rule.count_refused:
        return ()
    rows = list(rule.windows.all())
    with suppress(ValueError):  # what is wrong with a candidate must not keep the rule from being enforced
        windows = tuple(row.freeze() for row in candidate_rows(rule.candidate, rows))
        if not too_much(windows) and windows != tuple(row.freeze() for row in rows):
            return windows
    return ()
