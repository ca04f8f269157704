"""`override_rules`, as a site's own tests use it."""

from typing import Any

import pytest
from django.test import AsyncClient, Client

import ratewindow
from ratewindow import rulebook
from ratewindow.models import RateRule
from ratewindow.reporting import counters
from ratewindow.testing import override_rules
from tests.doors import behind_middleware, decorated, plain, statuses


def test_a_rule_of_the_tests_own_holds_where_code_names_it_without_database_or_redis(redis_client: object) -> None:
    with override_rules({"api.minute": "2/m"}):
        assert statuses(decorated(False, "api.minute"), 3) == [200, 200, 429]
    assert not redis_client.keys("*")  # type: ignore[attr-defined]


def test_what_a_test_counted_is_not_sent_to_the_server_that_is_back_after_it(redis_client: object) -> None:
    with override_rules(login="2/m"):
        assert statuses(decorated(False, "login"), 3) == [200, 200, 429]
    counters.flush()
    assert not redis_client.keys("*")  # type: ignore[attr-defined]


def test_travelling_lets_time_pass_without_waiting() -> None:
    view = decorated(False, "login")
    with override_rules(login="2/m") as rules:
        assert statuses(view, 3) == [200, 200, 429]
        rules.travel("61s")
        assert statuses(view, 3) == [200, 200, 429]


def test_without_any_rule_nobody_is_limited_not_even_by_rates_in_code() -> None:
    view = decorated(False, "by.code", "1/m")
    with override_rules():
        assert statuses(view, 3) == [200, 200, 200]
    assert statuses(view, 2) == [200, 429]


def test_a_rate_in_code_keeps_its_key_and_gets_the_tests_rate() -> None:
    view = decorated(False, "by.code.key", "1/m", key="header:x-api-key")
    with override_rules({"by.code.key": "2/m"}):
        assert statuses(view, 3, headers={"x-api-key": "one"}) == [200, 200, 429]
        assert statuses(view, 1, headers={"x-api-key": "two"}) == [200]


@pytest.mark.django_db(transaction=True)
def test_a_row_keeps_its_path_and_is_enforced() -> None:
    RateRule.objects.define("login", "100/m", path="/login/", mode="shadow")
    site = behind_middleware(plain(False))
    with override_rules(login="1/m"):
        assert statuses(site, 2, "/login/") == [200, 429]
        assert statuses(site, 2, "/other/") == [200, 200]
    assert statuses(site, 3, "/login/") == [200] * 3


def test_counting_begins_anew_each_time_and_the_inner_one_wins() -> None:
    view = decorated(False, "login")
    with override_rules(login="1/m"):
        assert statuses(view, 2) == [200, 429]
    with override_rules(login="1/m"):
        assert statuses(view, 2) == [200, 429]
        with override_rules():
            assert statuses(view, 2) == [200, 200]
    assert rulebook._instead is None


@override_rules({"demo.limited": "2/m"})
def test_it_decorates_functions() -> None:
    assert [Client().get("/limited/").status_code for _ in range(3)] == [200, 200, 429]


@override_rules({"demo.limited": "2/m"})
async def test_it_decorates_coroutine_functions() -> None:
    assert [(await AsyncClient().get("/limited/")).status_code for _ in range(3)] == [200, 200, 429]


def test_calls_by_name_follow_it_too() -> None:
    with override_rules(mail="1/h") as rules:
        assert ratewindow.hit("mail", "user:42")
        refused = ratewindow.hit("mail", "user:42")
        assert refused.retry_after is not None
        rules.travel(f"{round(refused.retry_after * 1000)}ms")
        assert ratewindow.hit("mail", "user:42")


def test_it_is_undone_after_an_error() -> None:
    with pytest.raises(RuntimeError), override_rules(login="1/m"):
        raise RuntimeError
    assert rulebook._instead is None


@pytest.mark.parametrize(("name", "rate", "told"), [("No", "1/m", "'No' is no rule name"), ("no", "1/parsec", "no unit of time")])
def test_a_bad_name_or_rate_is_named_at_once(name: str, rate: str, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        override_rules({name: rate})


def test_what_it_cannot_hold_around_is_told_what_to_write_instead():
    def fixture():
        yield

    async def afixture():
        yield

    for thing in (type("Test", (), {}), fixture, afixture):
        with pytest.raises(TypeError, match=r"write `with override_rules\(\.\.\.\):` inside of it"):
            override_rules(login="5/m")(thing)


@pytest.mark.parametrize("rates", ["5/m", 5, [("login", "5/m")], lambda: None])
def test_rules_that_are_none_are_named_at_once(rates: Any) -> None:
    with pytest.raises(TypeError, match=r"are no rules: write override_rules\(login='5/m'\) or override_rules\({'api.minute'"):
        override_rules(rates)
