"""A site's own function that fails: never a failed request, one line in the log, and a count."""

import logging
from typing import Any

import pytest
from django.conf import settings
from django.test import override_settings

from ratewindow.conf import site_functions
from ratewindow.conf.news import AGAIN_S, News
from ratewindow.limiter.arguments import MOST_COST
from ratewindow.limiter.rates import parse_rates
from ratewindow.rulebook import current
from ratewindow.rulebook.current import Rulebook
from ratewindow.rules.rule import Rule
from tests.support.doors import decorated, statuses

is_async = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])


@pytest.fixture(autouse=True)
def _none_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(site_functions, "failing", News())


def raising(request: Any) -> int:
    raise ZeroDivisionError("no\nend")


NONSENSE = [raising, lambda request: None, lambda request: -1, lambda request: "5", lambda request: 1.5, lambda request: True]


@is_async
@pytest.mark.parametrize("cost", NONSENSE)
@pytest.mark.parametrize(("on_error", "answers"), [("allow", [200, 200, 429]), ("local", [200, 200, 429])])
def test_a_cost_that_fails_neither_fails_the_request_nor_lifts_the_limit(
    is_async: bool, cost: Any, on_error: str, answers: list[int]
) -> None:
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "ON_ERROR": on_error}):
        assert statuses(decorated(is_async, "dear", "2/m", cost=cost), 3) == answers


def test_a_rule_in_shadow_beside_the_code_is_not_refused_but_counted() -> None:
    current._held.book = Rulebook([Rule("dear", parse_rates("9/m"), mode="shadow", on_error="refuse")])
    assert statuses(decorated(False, "dear", "2/m", cost=raising), 3) == [200, 200, 429]


def test_a_cost_beyond_the_bound_is_the_bound_and_not_free() -> None:
    assert statuses(decorated(False, "dear", "100/m", cost=lambda request: MOST_COST * 5), 2) == [429, 429]


def test_the_log_has_one_line_in_ten_minutes(caplog: pytest.LogCaptureFixture) -> None:
    costs = iter(["\N{SNOWMAN}", "a", 1, "b", "c"])
    with caplog.at_level(logging.ERROR, "ratewindow"):
        view = decorated(False, "dear", "9/m", cost=lambda request: next(costs))
        statuses(view, 4)
        assert len(caplog.records) == 1
        site_functions.failing._told_s["cost", "dear"] -= AGAIN_S
        statuses(view, 1)
    assert len(caplog.records) == 2
    assert caplog.records[0].getMessage().startswith("ratewindow: the cost function of dear failed, requests cost what the rule")
    assert caplog.records[0].getMessage().isascii()


def test_each_failure_is_counted_for_each_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[tuple[str, str]] = []
    monkeypatch.setattr(site_functions, "listeners", [lambda rule, cause: heard.append((rule, cause))])
    statuses(decorated(False, "dear", "9/m", cost=raising), 2)
    assert heard == [("dear", "function:cost")] * 2


def test_what_fails_for_a_request_that_nobody_sent_is_neither_logged_nor_counted(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted: list[tuple[str, str]] = []
    monkeypatch.setattr(site_functions, "listeners", [lambda rule, cause: counted.append((rule, cause))])
    site_functions.failed("key", "before", ValueError(), "requests count as if they had none")
    caplog.clear()
    with site_functions.unreported():
        site_functions.failed("cost", "login", ValueError(), "it costs 1", ["login"])
        site_functions.count("key", "login")
    assert (counted, caplog.records, [*site_functions.failing._told_s]) == ([], [], [("key", "before")])
