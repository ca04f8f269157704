"""A rule in shadow, made from what a backtest has tried, with the evidence for its limits."""

from dataclasses import replace

from django.core.exceptions import ValidationError
from django.db import router, transaction

from ratewindow.limiter.problem import Problem
from ratewindow.models import Mode, RateRule
from ratewindow.operations.backtest import as_row, evidence
from ratewindow.operations.backtest.result import Result
from ratewindow.operations.documents.parsing import parse_rule
from ratewindow.rules.rule import Rule, check_name


def check_new(name: str) -> None:
    """Raise ValueError for the name of a rule that is wrong or taken."""
    check_name(name)
    if RateRule.objects.filter(name=name).exists():
        raise Problem("rule {name!r} exists already: choose another name", name=name)


def create(name: str, rule: Rule, log: str, found: Result, as_suggested: bool) -> RateRule:
    """Save it under that name, at the limits that were tried or, `as_suggested`, where there is a suggestion at that. ValueError
    for a name that is wrong or taken."""
    check_new(name)
    if found.reason:
        raise Problem("no rule is made: {reason}", reason=found.reason)
    suggested = {each.period_ms: each.suggestion.limit for each in found.periods if as_suggested}
    windows = [replace(window, limit=suggested.get(window.period_ms) or window.limit, burst=None) for window in rule.windows]
    limits = as_row.limits(rule.windows, "; ".join(window.text for window in windows))
    fields = {field: value for field, value in as_row.fields(rule).items() if value != ""}
    parsed = parse_rule({"name": name, "mode": Mode.SHADOW.value, **fields, "limits": limits})
    try:
        parsed.rule.validate_unique()
    except ValidationError as error:
        raise ValueError(" ".join(error.messages)) from None
    with transaction.atomic(using=router.db_for_write(RateRule)):
        parsed.rule.save(force_insert=True)
        for window in parsed.windows:
            window.rule = parsed.rule
            window.save(force_insert=True)
        evidence.keep(parsed.rule, evidence.of(log, found), [window.freeze() for window in parsed.windows])
    return parsed.rule
