"""A rule as a sentence."""

from datetime import timedelta
from typing import Any, ClassVar

import pytest
from django.test import override_settings

from ratewindow.admin.wording import sentence, sentence_in_code
from ratewindow.limiter.types import Window
from ratewindow.models import RateRule, RuleWindow
from ratewindow.rules.code_rates import CodeRate
from tests.support.rule_pages import define

pytestmark = pytest.mark.django_db

BY_ADDRESS = "requests without the key are counted by their address."


@pytest.mark.parametrize(
    ("rate", "fields", "said"),
    [
        ("5/m", {}, "Each address: at most 5 in 1 minute, where code names it."),
        (
            "1000/2w",
            {"key": "user"},
            f"Each user: at most 1,000 in 2 weeks, where code names it; {BY_ADDRESS}",
        ),
        ("5/s", {"applies_to": "all", "key": "global"}, "Everybody together: at most 5 in 1 second, on every request."),
        (
            "5/500ms",
            {"prefix": "/api/", "key": "user_or_ip"},
            "Each user or address: at most 5 in 500 milliseconds, below /api/.",
        ),
        ("5/2h30m", {"path": "/x/", "methods": "PUT,POST"}, "Each address: at most 5 in 2h30m, on POST or PUT /x/."),
        (
            "5/w",
            {"key": "ip+header:x-api-key"},
            f"Each address + x-api-key header: at most 5 in 1 week, where code names it; {BY_ADDRESS}",
        ),
        (
            "5/m",
            {"key": "post:username"},
            f"Each username in the form: at most 5 in 1 minute, where code names it; {BY_ADDRESS}",
        ),
        (
            "5/m",
            {"key": "session + get:q"},
            f"Each session + q in the query string: at most 5 in 1 minute, where code names it; {BY_ADDRESS}",
        ),
        (
            "5/m",
            {"key": "jwt:cognito:username"},
            f"Each cognito:username of the token: at most 5 in 1 minute, where code names it; {BY_ADDRESS}",
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
        ({"cost": 0}, "each request costs 0"),
        ({"key": "user", "on_missing": "allow"}, "requests without the key pass uncounted"),
        ({"key": "user", "on_missing": "refuse"}, "requests without the key are refused"),
        ({"count_refused": True}, "refused requests also count"),
        ({"on_error": "refuse"}, "while Redis is unavailable, requests are refused"),
        ({"on_error": "local"}, "while Redis is unavailable, each process counts its share"),
    ],
)
def test_what_else_a_rule_does_is_said(fields: dict[str, Any], said: str) -> None:
    rule = define("rule", "5/m", **{"key": "user_or_ip", **fields})
    client = "Each user" if rule.key == "user" else "Each user or address"
    assert sentence(rule) == f"{client}: at most 5 in 1 minute, where code names it; {said}."


def test_a_soft_limit_is_said() -> None:
    rule = define("rule", "5/d", algorithm="fixed_window", aligned_to="day", soft=True)
    assert "at most 5 in each day by the clock (UTC)" in sentence(rule)
    assert sentence(rule).endswith("; over the limit, requests pass and still count.")


def test_a_rate_in_code_says_that_it_normalises() -> None:
    said = sentence_in_code(CodeRate("login", "5/m", "post:username", frozenset(), "views.py", normalise=True))
    assert "capital letters and blanks make no difference" in said


def test_a_rule_without_a_limit_says_so() -> None:
    rule = RateRule.objects.create(name="empty", applies_to="all")
    assert sentence(rule) == "Each address: no limit yet, so nobody is refused, on every request."


def test_what_a_key_lacks_is_said_only_where_a_request_may_lack_it() -> None:
    for key in ("ip", "global", "user_or_ip+path", "method"):
        assert "requests without" not in sentence(define(f"x-{key[:2]}", "5/m", key=key, on_missing="refuse"))
    assert "requests without" in sentence(define("y", "5/m", key="ip+user"))


class TestNoFieldIsSilent:
    """Whoever adds a field to a rule or a limit says here what its sentence says, or why it says nothing."""

    OF_RULES: ClassVar[dict[str, dict[str, Any]]] = {
        "enforce_percent": {"mode": "enforce", "enforce_percent": 10},
        "applies_to": {"applies_to": "all"},
        "pattern": {"applies_to": "path", "pattern": "/other/"},
        "methods": {"methods": "POST"},
        "key": {"key": "session"},
        "on_missing": {"on_missing": "refuse"},
        "normalise": {"normalise": True},
        "cost": {"cost": 2},
        "count_when": {"count_when": "401"},
        "hold": {"hold": True, "count_when": "401"},
        "forgive": {"forgive": True, "count_when": "401"},
        "count_refused": {"count_refused": True},
        "soft": {"soft": True},
        "penalty": {"penalty": timedelta(minutes=15)},
        "on_error": {"on_error": "local"},
        "response_status": {"response_status": 503},
        "message": {"message": "Slow down."},
        "limits_from": {"limits_from": "by plan"},
    }
    SILENT_RULES: ClassVar[dict[str, str]] = {
        "id": "the row",
        "name": "stands above the sentence, and changes no decision",
        "description": "a note for colleagues",
        "mode": "stands beside the sentence, as a badge or as the form's choice",
        "mode_since": "stands beside the mode",
    }
    OF_LIMITS: ClassVar[dict[str, dict[str, Any]]] = {
        "limit": {"limit": 6},
        "period": {"period": timedelta(hours=1)},
        "algorithm": {"algorithm": "sliding_log"},
        "burst": {"algorithm": "token_bucket", "burst": 20},
        "aligned_to": {"algorithm": "fixed_window", "aligned_to": "minute"},
    }
    SILENT_LIMITS: ClassVar[dict[str, str]] = {
        "id": "the row",
        "rule": "is the rule whose sentence it is",
        "buckets": "how finely a sliding window counts, which few change",
    }

    def test_every_field_is_said_or_has_a_reason(self) -> None:
        assert {field.name for field in RateRule._meta.concrete_fields} == {*self.OF_RULES, *self.SILENT_RULES}
        assert {field.name for field in RuleWindow._meta.concrete_fields} == {*self.OF_LIMITS, *self.SILENT_LIMITS}

    @pytest.mark.parametrize("name", OF_RULES)
    def test_another_value_makes_another_sentence(self, name: str) -> None:
        change = self.OF_RULES[name]
        others = {field: value for field, value in change.items() if field != name}
        before = RateRule(**{"key": "user", "pattern": "/login/", **others})
        after = RateRule(**{"key": "user", "pattern": "/login/", **change})
        assert sentence(before, [Window(5, 60_000)]) != sentence(after, [Window(5, 60_000)])

    @pytest.mark.parametrize("name", OF_LIMITS)
    def test_so_does_another_value_of_a_limit(self, name: str) -> None:
        change = self.OF_LIMITS[name]
        others = {field: value for field, value in change.items() if field != name}
        usual = {"limit": 5, "period": timedelta(minutes=1)}
        before, after = RuleWindow(**usual | others).freeze(), RuleWindow(**usual | change).freeze()
        assert sentence(RateRule(), [before]) != sentence(RateRule(), [after])

    def test_several_limits_are_all_said(self) -> None:
        several = [Window(5, 60_000), Window(20, 3_600_000), Window(100, 86_400_000)]
        assert "at most 5 in 1 minute and 20 in 1 hour and 100 in 1 day" in sentence(RateRule(), several)

    @pytest.mark.parametrize(
        ("day", "said"), [(1, "5 in each month of the calendar (UTC)"), (15, "5 in each month that begins on day 15 (UTC)")]
    )
    def test_a_month_says_on_which_day_it_begins(self, day: int, said: str) -> None:
        window = Window(5, 30 * 86_400_000, "fixed_window", aligned_to="month", day=day)
        assert said in sentence(RateRule(), [window])

    @override_settings(TIME_ZONE="Asia/Kolkata")
    def test_a_day_by_the_clock_names_the_zone(self) -> None:
        window = RuleWindow(limit=5, period=timedelta(days=1), algorithm="fixed_window", aligned_to="day").freeze()
        assert "5 in each day by the clock (Asia/Kolkata)" in sentence(RateRule(), [window])


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"prefix": "/api"}, "on paths that start with /api"),
        ({"prefix": "/api", "methods": "POST"}, "on POST paths that start with /api"),
        ({"path": "/x/", "normalise": True}, "capital letters and blanks make no difference"),
        ({"path": "/x/", "message": "Slow down."}, "; refused clients read “Slow down”."),
    ],
)
def test_so_are_these(fields: dict[str, Any], said: str) -> None:
    assert said in sentence(define("rule", "5/m", **fields))
