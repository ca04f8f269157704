"""The decorators and the middleware of django-smart-ratelimit as shadow rules."""

import pytest

from ratewindow.operations.other_limiters import django_smart_ratelimit
from tests.support.other_limits import found_by, rule

pytestmark = pytest.mark.django_db

MIDDLEWARE = {"MIDDLEWARE": ["django_smart_ratelimit.middleware.RateLimitMiddleware"]}


def test_each_decorator_is_a_shadow_rule_that_counts_the_same() -> None:
    rules, found = found_by(django_smart_ratelimit)
    expected = rule("smart", ("route", "smart"), "user_or_ip", 10, "1m", "token_bucket", cost=2)
    expected["limits"][0]["burst"] = 20
    assert rules == {"smart": expected}
    assert found.left_out == ["tests.support.other_limits_urls.skipped: it has skip_if=, which a rule does not have."]


def test_the_setting_of_the_middleware_is_a_rule_for_each_path_and_one_for_the_rest() -> None:
    options = {"DEFAULT_RATE": "100/m", "RATE_LIMITS": {"/api/": "1000/h", "/bad/": "often"}}
    rules, found = found_by(django_smart_ratelimit, RATELIMIT_MIDDLEWARE=options, **MIDDLEWARE)
    assert rules["middleware-api"] == rule("middleware-api", ("prefix", "/api/"), "ip+path", 1000, "1h", "sliding_window")
    rest = rules["middleware"]
    assert (rest["applies_to"], rest["key"], rest["limits"][0]["limit"]) == ("all", "ip", 100)
    assert any(each.startswith("RATELIMIT_MIDDLEWARE['/bad/']: its rate 'often' cannot be read") for each in found.left_out)
    assert ("middleware", "it also counts what SKIP_PATHS, RATE_LIMITS and static files take out there.") in found.notes


def test_a_middleware_that_is_not_used_or_counts_by_code_is_no_rule() -> None:
    assert set(found_by(django_smart_ratelimit, RATELIMIT_MIDDLEWARE={})[0]) == {"smart"}
    rules, found = found_by(django_smart_ratelimit, RATELIMIT_MIDDLEWARE={"KEY_FUNCTION": "shop.key"}, **MIDDLEWARE)
    assert set(rules) == {"smart"} and any("KEY_FUNCTION is a function of your own" in each for each in found.left_out)
