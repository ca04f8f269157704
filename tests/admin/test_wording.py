"""A rule as a sentence."""

from typing import Any

import pytest

from ratewindow.admin.wording import sentence
from ratewindow.models import RateRule
from tests.support.rule_pages import define

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("rate", "fields", "said"),
    [
        ("5/m", {}, "Each address: at most 5 in 1 minute, where code names it."),
        ("1000/2w", {"key": "user"}, "Each user: at most 1,000 in 2 weeks, where code names it."),
        ("5/s", {"applies_to": "all", "key": "global"}, "Everybody together: at most 5 in 1 second, on every request."),
        (
            "5/500ms",
            {"prefix": "/api/", "key": "user_or_ip"},
            "Each user or address: at most 5 in 500 milliseconds, below /api/.",
        ),
        ("5/2h30m", {"path": "/x/", "methods": "PUT,POST"}, "Each address: at most 5 in 2h30m, on POST or PUT /x/."),
        ("5/w", {"key": "ip+header:x-api-key"}, "Each address + x-api-key header: at most 5 in 1 week, where code names it."),
        ("5/m", {"key": "post:username"}, "Each username in the form: at most 5 in 1 minute, where code names it."),
        ("5/m", {"key": "session + get:q"}, "Each session + q in the query string: at most 5 in 1 minute, where code names it."),
        (
            "5/m",
            {"key": "jwt:cognito:username"},
            "Each cognito:username of the token: at most 5 in 1 minute, where code names it.",
        ),
        ("5/m", {"regex": "^/v[12]/"}, "Each address: at most 5 in 1 minute, on paths that match ^/v[12]/."),
        ("5/m", {"regex": "^/v/", "methods": "GET"}, "Each address: at most 5 in 1 minute, on GET to paths that match ^/v/."),
        ("5/m", {"route": "shop:cart"}, "Each address: at most 5 in 1 minute, on the route shop:cart."),
        ("5/m", {"route": "shop", "methods": "POST"}, "Each address: at most 5 in 1 minute, on POST to the route shop."),
        ("5/m; 0/h", {"applies_to": "all", "methods": "POST"}, "Each address: always refused, on every POST request."),
    ],
)
def test_a_rule_is_said_in_plain_words(rate: str, fields: dict[str, Any], said: str) -> None:
    assert sentence(define("rule", rate, **fields)) == said


@pytest.mark.parametrize(
    ("window", "said"),
    [
        ({"algorithm": "token_bucket", "burst": 20}, "at most 20 at once and then 5 in 1 day"),
        ({"algorithm": "leaky_bucket"}, "at most 1 at once and then 5 in 1 day"),
        ({"algorithm": "fixed_window", "aligned_to": "day"}, "at most 5 in each day by the clock (UTC)"),
    ],
)
def test_bursts_and_the_calendar_are_said(window: dict[str, Any], said: str) -> None:
    rule = RateRule.objects.create(name="rule")
    rule.windows.create(limit=5, period="1d", **window)
    assert sentence(rule) == f"Each address: {said}, where code names it."


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"cost": 5}, "each request costs 5"),
        ({"cost": 0}, "requests cost nothing and are only checked"),
        ({"on_missing": "allow"}, "requests without this key pass uncounted"),
        ({"on_missing": "refuse"}, "requests without this key are refused"),
        ({"count_refused": True}, "refused requests also count"),
        ({"on_error": "refuse"}, "while Redis is away, requests are refused"),
        ({"on_error": "local"}, "while Redis is away, each process counts its share"),
        ({"lease": 10}, "a process may take 10 units at once"),
    ],
)
def test_what_else_a_rule_does_is_said(fields: dict[str, Any], said: str) -> None:
    rule = define("rule", "5/m", key="user", **fields)
    assert sentence(rule) == f"Each user: at most 5 in 1 minute, where code names it; {said}."


def test_a_rule_without_a_limit_says_so() -> None:
    rule = RateRule.objects.create(name="empty", applies_to="all")
    assert sentence(rule) == "Each address: no limit yet, so nobody is refused, on every request."
