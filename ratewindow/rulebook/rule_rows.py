"""Rows of rules and of the kill switch as the frozen values that a process holds."""

from collections.abc import Iterator

from ratewindow.limiter.durations import parse_duration
from ratewindow.limiter.limiter import check_cost
from ratewindow.limiter.problem import Problem
from ratewindow.limiter.types import Window, too_much
from ratewindow.models import LimitSwitch, RateRule
from ratewindow.models.candidate import candidate_windows
from ratewindow.rules.count_when import parse_count_when
from ratewindow.rules.kill_switch import Switch
from ratewindow.rules.regex import check_regex
from ratewindow.rules.rule import Rule, check_name, parse_methods


def readings() -> Iterator[tuple[RateRule, Rule | Exception]]:
    """Each row with its rule, or with the error if it is wrong."""
    for row in RateRule.objects.prefetch_related("windows"):
        try:
            yield row, freeze(row)
        except Exception as error:  # a newer version of this app may write what this one does not know
            yield row, error


def freeze(row: RateRule, windows: tuple[Window, ...] | None = None) -> Rule:
    """A row as a rule, with its own windows or these; ValueError if it is wrong."""
    check_name(row.name)  # raw SQL and fixtures check nothing, and it goes into headers
    rule = Rule(
        name=row.name,
        windows=tuple(window.freeze() for window in row.windows.all()) if windows is None else windows,
        mode=row.mode,
        key=row.key,
        on_missing=row.on_missing,
        normalise=row.normalise,
        applies_to=row.applies_to,
        pattern=row.pattern,
        methods=parse_methods(row.methods),
        cost=check_cost(row.cost),
        count_when=parse_count_when(row.count_when),
        hold=row.hold,
        count_refused=row.count_refused,
        penalty_ms=parse_duration(row.penalty) if row.penalty else 0,
        enforce_percent=row.enforce_percent,
        on_error=row.on_error,
        response_status=row.response_status,
        message=row.message,
        lease=row.lease,
        candidate=candidate_windows(row) if windows is None else (),
    )
    if problem := too_much(rule.windows):
        raise Problem("rule {name!r} has {problem}: give it fewer", name=row.name, problem=problem)
    _ = rule.recipe, rule.state_names  # parsed here, so that a bad key is found here
    if rule.applies_to == "regex":
        check_regex(rule.pattern)  # here it may not be installed
    return rule


def read_switch() -> Switch | None:
    """The kill switch by its row, if there is one."""
    row = LimitSwitch.objects.order_by("-changed_at").first()
    if row is None:
        return None
    return Switch(row.off, row.until.timestamp() if row.until else None, row.reason, row.changed_by, row.changed_at.timestamp())
