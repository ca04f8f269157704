"""Ready rules tried on a log: what each would have refused there, and the rate that the log suggests in the place of its own."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from django.db import router, transaction

from ratewindow.models import RateRule
from ratewindow.operations import presets
from ratewindow.operations.backtest import evidence
from ratewindow.operations.backtest.known import unknowable
from ratewindow.operations.backtest.plan import of_rates, side_by_side
from ratewindow.operations.backtest.result import Result
from ratewindow.operations.backtest.run import Progress, backtests
from ratewindow.operations.backtest.suggestion_in_words import reason
from ratewindow.operations.logs.log import Log
from ratewindow.operations.presets import Preset
from ratewindow.rules.rule import Rule


@dataclass(frozen=True)
class Tried:
    """A ready rule at the rate to use, why that one, and what its usual rate would have done."""

    preset: Preset
    usual: str
    why: str
    found: Result


def tried(found: Iterable[Preset], log: Log, progress: Progress) -> list[Tried]:
    """Each by itself, in one reading of the log. Raises ValueError."""
    each = [(preset, _rule(preset)) for preset in found]
    results = backtests(log, [side_by_side([rule]) for _, rule in each], progress=progress, with_peaks=True)
    return [_at_its_rate(preset, rule, result) for (preset, rule), result in zip(each, results, strict=True)]


def save(one: Tried, log: str) -> bool:
    """Save it in shadow, with the result as its evidence; whether it is new."""
    with transaction.atomic(using=router.db_for_write(RateRule)):
        row, is_new = presets.save(one.preset)
        if is_new:
            evidence.keep(row, evidence.of(log, one.found), [window.freeze() for window in row.windows.all()])
    return is_new


def _rule(preset: Preset) -> Rule:
    fields = {name: value for name, value in preset.fields.items() if name not in ("description", "applies_to", "pattern")}
    place = {preset.fields["applies_to"]: preset.fields["pattern"]} if preset.fields["pattern"] else {}
    return of_rates(preset.rate, name=preset.name, **fields, **place).rules[0]


def _at_its_rate(preset: Preset, rule: Rule, found: Result) -> Tried:
    """At the suggested limits, if the log says enough for each of them, and what the rule counts."""
    if rule.count_when is not None and rule.count_when.login_failed:
        return Tried(preset, preset.rate, f"{preset.rate} stays: a log does not say whether a login failed.", found)
    if unknown := unknowable(rule.key):
        return Tried(preset, preset.rate, f"{preset.rate} stays: a log cannot say {unknown} of a request.", found)
    if found.reason:
        return Tried(preset, preset.rate, f"{preset.rate} stays. {found.reason}", found)
    if not found.total.requests:
        return Tried(preset, preset.rate, f"{preset.rate} stays: no request of the log meets this rule.", found)
    suggested = {each.period_ms: each.suggestion for each in found.periods}
    for one in suggested.values():
        if one.limit is None or not one.stable:
            return Tried(preset, preset.rate, f"{preset.rate} stays. {reason(one)}", found)
    rate = "; ".join(suggested[window.period_ms].rate for window in rule.windows)
    return Tried(replace(preset, rate=rate), preset.rate, " ".join(map(reason, suggested.values())), found)
