"""A rule that was tried as the values of a row: those of the form of a new rule, and of its limits."""

from collections.abc import Iterable, Mapping
from typing import Any

from ratewindow.limiter.durations import format_duration
from ratewindow.limiter.problem import Problem
from ratewindow.limiter.rates import parse_rates
from ratewindow.limiter.types import Window
from ratewindow.rules.count_when import ALWAYS, LOGIN_FAILED, CountWhen
from ratewindow.rules.rate_options import said
from ratewindow.rules.rule import Rule

_SAME = (
    *("key", "on_missing", "normalise", "applies_to", "pattern", "cost", "hold", "count_refused"),
    *("on_error", "response_status", "message", "lease"),
)


def fields(rule: Rule) -> dict[str, Any]:
    """Without name and mode: a rule that was tried begins in shadow, and beside another one needs a name of its own."""
    return {
        **{name: getattr(rule, name) for name in _SAME},
        "methods": ",".join(sorted(rule.methods)),
        "count_when": _condition(rule.count_when),
        "penalty": format_duration(rule.penalty_ms) if rule.penalty_ms else "",
    }


def limits(windows: Iterable[Window], rates: str) -> list[dict[str, Any]]:
    """The chosen `rates`, each with the options of the limit that was tried for its period. Raises ValueError."""
    tried = {window.period_ms: window for window in windows}
    chosen = parse_rates(rates)
    if not chosen:
        raise Problem("no limit is chosen: write for example 10/m")
    return [
        {
            "limit": window.limit,
            "period": format_duration(window.period_ms),
            **{name: value for name, value in said(tried.get(window.period_ms, window)).items() if value not in (None, "")},
        }
        for window in chosen
    ]


def of_window(window: Window) -> Mapping[str, Any]:
    """A limit as it can be sent to a browser and back."""
    return {"limit": window.limit, "period_ms": window.period_ms, **said(window)}


def _condition(found: CountWhen | None) -> str:
    if found is None:
        return ALWAYS
    if found.login_failed:
        return LOGIN_FAILED
    whole = [hundred for hundred in range(1, 6) if found.statuses.issuperset(range(100 * hundred, 100 * hundred + 100))]
    others = sorted(status for status in found.statuses if status // 100 not in whole)
    return ",".join([*map(str, others), *(f"{hundred}xx" for hundred in whole)])
