"""`override_rules` and `fresh_counts`, as a site's own tests use them."""

import unittest
from typing import Any

import pytest
import redis
from django.http import HttpRequest, HttpResponse
from django.test import AsyncClient, Client, SimpleTestCase
from django.test.utils import setup_test_environment, teardown_test_environment

import ratewindow
from ratewindow.counting.counters import counters
from ratewindow.models import RateRule
from ratewindow.operations import switch_off
from ratewindow.rulebook import current
from ratewindow.store import process_clients, state_keys
from ratewindow.testing import FreshCountsRunner, Rule, fresh_counts, override_rules
from tests.support.doors import behind_middleware, decorated, plain, statuses


def test_a_rule_of_the_tests_own_holds_where_code_names_it_without_database_or_redis(redis_client: object) -> None:
    view = decorated(False, "api.minute")
    with override_rules({"api.minute": "2/m"}):
        assert statuses(view, 3) == [200, 200, 429]
    assert not redis_client.keys("*")  # type: ignore[attr-defined]


def test_what_a_test_counted_is_not_sent_to_the_server_that_is_back_after_it(redis_client: object) -> None:
    view = decorated(False, "login")
    with override_rules(login="2/m"):
        assert statuses(view, 3) == [200, 200, 429]
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
    assert current._of_test is None


@override_rules({"demo.limited": "2/m"})
def test_it_decorates_functions() -> None:
    assert [Client().get("/limited/").status_code for _ in range(3)] == [200, 200, 429]


@override_rules({"demo.limited": "2/m"})
async def test_it_decorates_coroutine_functions() -> None:
    assert [(await AsyncClient().get("/limited/")).status_code for _ in range(3)] == [200, 200, 429]


def test_calls_by_name_follow_it_too() -> None:
    with override_rules(Rule("mail", "1/h")) as rules:
        assert ratewindow.hit("mail", "user:42")
        refused = ratewindow.hit("mail", "user:42")
        assert refused.retry_after is not None
        rules.travel(f"{round(refused.retry_after * 1000)}ms")
        assert ratewindow.hit("mail", "user:42")


def test_it_is_undone_after_an_error() -> None:
    with pytest.raises(RuntimeError), override_rules({"demo.limited": "1/m"}):
        raise RuntimeError
    assert current._of_test is None


@pytest.mark.parametrize(("name", "rate", "told"), [("No", "1/m", "'No' is not a rule name"), ("no", "1/parsec", "not a unit")])
def test_a_bad_name_or_rate_is_named_at_once(name: str, rate: str, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        override_rules({name: rate})


@pytest.mark.parametrize("rates", ["5/m", 5, [("login", "5/m")], lambda: None])
def test_rules_that_are_none_are_named_at_once(rates: Any) -> None:
    with pytest.raises(TypeError, match=r"is not a rule: write override_rules\(login='5/m'\) or override_rules\({'api.minute'"):
        override_rules(rates)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("mode", ["shadow", "enforce", "off"])
def test_a_rule_of_the_site_is_tested_by_its_path_with_another_rate(mode: str) -> None:
    RateRule.objects.define("api", "100/m", prefix="/api/", key="header:x-api-key", methods="GET", mode=mode)
    site = behind_middleware(plain(False))
    with override_rules(api="1/m"):
        assert statuses(site, 2, "/api/", headers={"x-api-key": "one"}) == [200, 429]
        assert statuses(site, 1, "/api/", headers={"x-api-key": "two"}) == [200]
        assert statuses(site, 2, "/api/", method="POST", headers={"x-api-key": "one"}) == [200, 200]


def test_a_whole_rule_of_the_tests_own_applies_where_it_says() -> None:
    site = behind_middleware(plain(False))
    with override_rules(Rule("api", "2/m", prefix="/api/", key="header:x-api-key", cost=2), Rule("all", "9/m", applies_to="all")):
        assert statuses(site, 2, "/api/", headers={"x-api-key": "one"}) == [200, 429]
        assert statuses(site, 9, "/other/") == [200] * 8 + [429]


def test_a_whole_rule_has_the_options_of_a_rate_in_code() -> None:
    site = behind_middleware(plain(False))
    with override_rules(Rule("api", "1/h", prefix="/", algorithm="token_bucket", burst=2, response_status=503)):
        assert statuses(site, 3) == [200, 200, 503]


def test_a_rate_by_a_function_keeps_its_options() -> None:
    for rate in ("5/m", lambda request: "5/m"):
        view = decorated(False, "export", rate, status=503)
        with override_rules(export="1/m"):
            assert statuses(view, 2) == [200, 503]


@pytest.mark.parametrize(
    ("arguments", "fields", "told"),
    [
        (("No", "2/m"), {}, "'No' is not a rule name"),
        (("api", "2/parsec"), {}, "not a unit of time"),
        (("api", "2/m"), {"prefix": "api"}, "'api' is not a path: begin with /"),
        (("api", "2/m"), {"key": "shoe_size"}, "'shoe_size' is not a key"),
        (("api", "2/m"), {"methods": "POTS"}, "did you mean POST?"),
        (("api", "2/m"), {"path": "/a/", "route": "a"}, "give one of path=, prefix=, regex=, route=, not 2"),
    ],
)
def test_what_is_wrong_with_a_whole_rule_is_named_at_once(arguments: tuple[str, str], fields: Any, told: str) -> None:
    with pytest.raises(ValueError) as raised:
        Rule(*arguments, **fields)
    assert told in str(raised.value)


def test_a_name_that_the_site_has_not_is_an_error_that_tells_the_nearest() -> None:
    with pytest.raises(ValueError, match=r"'demo.limitd' is not a rule of this site: .* did you mean 'demo.limited'\?"):
        override_rules({"demo.limitd": "5/m"}).__enter__()
    with pytest.raises(ValueError, match=r"For a rule of the test write Rule\('xyz', '5/m', path=\.\.\.\)"):
        override_rules(xyz="5/m").__enter__()
    assert current._of_test is None


def test_an_inner_one_may_name_what_only_the_outer_one_has() -> None:
    view = decorated(False, "demo.limited")
    with override_rules(Rule("own", "9/m", path="/own/")), override_rules({"own": "1/m", "demo.limited": "1/m"}):
        assert statuses(behind_middleware(plain(False)), 2, "/own/") == [200, 429]
        assert statuses(view, 2) == [200, 429]


@pytest.mark.django_db
def test_a_row_that_a_test_has_saved_in_its_transaction_is_known() -> None:
    RateRule.objects.define("api", "100/m", prefix="/api/", mode="enforce")
    with override_rules(api="1/m"):
        assert statuses(behind_middleware(plain(False)), 2, "/api/") == [200, 429]


@override_rules({"demo.limited": "2/m"})
class TestADecoratedClass:
    """Each of its tests begins with fresh counts."""

    @pytest.mark.parametrize("again", [1, 2])
    def test_in_pytest(self, again: int) -> None:
        assert [Client().get("/limited/").status_code for _ in range(3)] == [200, 200, 429]

    async def test_of_coroutine_functions(self) -> None:
        assert [(await AsyncClient().get("/limited/")).status_code for _ in range(3)] == [200, 200, 429]


@override_rules({"demo.limited": "2/m"})
class DecoratedCase(SimpleTestCase):
    def setUp(self) -> None:
        assert self.client.get("/limited/").status_code == 200

    def test_once(self) -> None:
        assert [self.client.get("/limited/").status_code for _ in range(2)] == [200, 429]

    def test_twice(self) -> None:
        self.test_once()

    async def test_in_a_coroutine_function(self) -> None:
        assert [(await self.async_client.get("/limited/")).status_code for _ in range(2)] == [200, 429]


def test_a_class_without_tests_is_named() -> None:
    with pytest.raises(TypeError, match="Empty has no tests: decorate a function, or a class whose tests begin with test"):
        override_rules({"demo.limited": "2/m"})(type("Empty", (), {}))


@override_rules({"demo.limited": "2/m"})
class TestDecoratedBesideData:
    test_user = "ann"

    def test_is_limited(self) -> None:
        assert [Client().get("/limited/").status_code for _ in range(3)] == [200, 200, 429]


def limited(request: HttpRequest) -> HttpResponse:
    return HttpResponse("ok")


@pytest.mark.parametrize("again", [1, 2])
def test_fresh_counts_leave_the_sites_rules_and_take_its_counts_away(again: int, redis_client: redis.Redis) -> None:
    view = decorated(False, "fresh.too", "2/m")
    assert statuses(view, 3) == [200, 200, 429]  # in Redis, and remembered here
    kept = set(redis_client.keys())
    for _ in range(2):
        with fresh_counts() as counts:
            assert statuses(view, 3) == [200, 200, 429]
            counts.travel("61s")
            assert statuses(view, 1) == [200]
    assert set(redis_client.keys()) == kept


def test_test_cases_run_so_under_djangos_runner_too() -> None:
    suite = unittest.TestSuite(unittest.defaultTestLoader.loadTestsFromTestCase(each) for each in (DecoratedCase,))
    result = unittest.TestResult()
    suite.run(result)
    assert (result.testsRun, result.errors, result.failures) == (3, [], [])


@pytest.mark.django_db
def test_djangos_runner_leaves_the_sites_redis_alone_between_tests_too(redis_client: redis.Redis) -> None:
    runner = FreshCountsRunner(verbosity=0)
    teardown_test_environment()  # that of pytest-django
    runner.setup_test_environment()
    try:
        assert process_clients.in_memory()
        assert runner.run_suite(runner.build_suite(["tests.testing.test_counts.DecoratedCase"])).wasSuccessful()
        assert process_clients.in_memory()
    finally:
        runner.teardown_test_environment()
        setup_test_environment()
    assert not process_clients.in_memory()


@pytest.mark.django_db
def test_a_test_that_switches_limits_off_switches_them_off_for_itself_alone(redis_client: redis.Redis) -> None:
    view = decorated(False, "fresh.switch", "1/m")
    with fresh_counts():
        switch_off.turn_off(60)
        assert statuses(view, 2) == [200, 200]
        with fresh_counts():
            assert statuses(view, 2) == [200, 429]
        assert statuses(view, 2) == [200, 200]
    assert statuses(view, 2) == [200, 429]
    assert redis_client.get(state_keys.switch()) is None
