"""What an explanation says of each rule, and the answer, in words."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.http import HttpRequest
from django.test import RequestFactory, override_settings
from django.urls import path, set_script_prefix
from rest_framework.views import APIView

import ratewindow
from ratewindow import ratekey, ratelimit
from ratewindow.conf import site_functions
from ratewindow.contrib.explain import words
from ratewindow.contrib.explain.explanation import Description, Explanation, Line, explain
from ratewindow.counting.counters import counters
from ratewindow.models import Override, RateRule
from ratewindow.operations import switch_off
from ratewindow.rest_framework import RuleThrottle
from ratewindow.store import outage
from tests.support.doors import behind_middleware, plain, statuses
from tests.support.urlconfs import site

pytestmark = pytest.mark.django_db(transaction=True)

ADDRESS = "203.0.113.9"


def define(name: str, rate: str, **fields: Any) -> None:
    RateRule.objects.define(name, rate, **{"mode": "enforce", **fields})


def asked(path_: str = "/login/", method: str = "GET", **more: Any) -> Explanation:
    return explain(Description(method, path_, **{"address": ADDRESS, **more}))


def line(found: Explanation, name: str) -> Line:
    (each,) = [each for each in found.lines if each.rule.name == name]
    return each


def why(found: Explanation, name: str) -> str:
    return words.why(line(found, name))


def use_up(count: int, path_: str = "/login/", **extra: Any) -> list[int]:
    return statuses(behind_middleware(plain(False)), count, path_, REMOTE_ADDR=ADDRESS, **extra)


def test_a_full_rule_refuses_with_what_is_used_and_when_it_lets_through() -> None:
    define("login", "2/h; 20/d", path="/login/")
    assert use_up(3) == [200, 200, 429]
    found = asked()
    assert words.answer(found).startswith("REFUSED by login: its limit is reached. Next let through at ")
    assert words.uses(line(found, "login")) == "2 of 2 in 1h, 2 of 20 in 1d"
    assert words.frees(line(found, "login")).startswith("in ")
    assert line(found, "login").effect == "refuses" and found.refused is not None


def test_one_with_room_lets_pass() -> None:
    define("login", "4/h", path="/login/")
    use_up(1)
    assert words.answer(asked()) == "PASSES: no rule refuses it."
    assert words.uses(line(asked(), "login")) == "1 of 4 in 1h"


def test_each_rule_that_does_not_match_says_why() -> None:
    define("path", "1/h", path="/search/")
    define("prefix", "1/h", prefix="/api/")
    define("regex", "1/h", regex="^/x")
    define("route", "1/h", route="home")
    define("post", "1/h", path="/login/", methods="POST,PUT")
    define("off", "1/h", path="/login/", mode="off")
    define("named", "1/h")
    found = asked()
    assert {each.rule.name: words.why(each) for each in found.lines} == {
        "path": "the path is not /search/",
        "prefix": "the path is not below /api/",
        "regex": "the path does not match ^/x",
        "route": "the route is not home",
        "post": "the method is not POST or PUT",
        "off": "it is off",
        "named": "it applies only where code names it",
    }
    with override_settings(MIDDLEWARE=[]):
        assert why(asked("/search/"), "path") == "RateWindowMiddleware is not in MIDDLEWARE, so no rule applies by path"


def test_a_rule_in_shadow_counts_and_what_it_would_do_is_said() -> None:
    define("login", "1/h", path="/login/", mode="shadow")
    use_up(2)
    found = asked()
    assert (found.refused, line(found, "login").effect) == (None, "would refuse")
    assert words.answer(found) == "PASSES: no rule refuses it."
    assert words.in_shadow(found) == "In shadow, it would be refused by: login"
    assert words.in_shadow(asked("/other/")) == ""


def test_of_a_refused_request_rules_in_shadow_show_their_own_numbers() -> None:
    define("login", "1/h", path="/login/")
    define("try", "5/h", path="/login/", mode="shadow")
    use_up(2)
    assert words.uses(line(asked(), "try")) == "1 of 5 in 1h"


def test_a_rule_that_counts_refused_requests_has_its_numbers_where_another_one_refuses() -> None:
    define("login", "0/h", path="/login/")
    define("try", "5/h", path="/login/", count_refused=True)
    use_up(2)
    found = asked()
    assert (line(found, "try").effect, words.uses(line(found, "try"))) == ("passes", "2 of 5 in 1h")
    use_up(3)
    assert line(asked(), "try").effect == "refuses"


@pytest.mark.parametrize(
    "on_missing, effect, said",
    [
        ("ip", "passes", "the request has no user, so it is counted per address"),
        ("allow", "not counted", "the request has no user, and such requests pass uncounted"),
        ("refuse", "refuses", "the request has no user, and such requests are refused"),
    ],
)
def test_a_request_without_what_identifies_it(on_missing: str, effect: str, said: str) -> None:
    define("login", "1/h", path="/login/", key="user", on_missing=on_missing)
    found = asked()
    assert (line(found, "login").effect, why(found, "login")) == (effect, said)


def test_a_user_is_found_by_name_or_number_and_counts_as_the_client() -> None:
    ann = User.objects.create(username="ann", email="ann@example.com")
    define("login", "1/h", path="/login/", key="user")
    for text in ("ann", f"user:{ann.pk}", str(ann.pk)):
        assert line(asked(user=text), "login").identity == f"user:{ann.pk}"


def test_headers_fields_and_the_query_identify_as_in_requests() -> None:
    define("a", "1/h", path="/login/", key="header:x-key+query:q+post:name+cookie:c")
    found = asked("/login/?q=1", "POST", headers={"X-Key": "k", "Cookie": "c=2"}, fields={"name": "ann"})
    assert line(found, "a").identity == "14:header:x-key:k+9:query:q:1+13:post:name:ann+10:cookie:c:2"
    define("b", "1/h", path="/login/", key="json:name")
    found = asked(method="POST", headers={"Content-Type": "application/json"}, fields={"name": "ann"})
    assert line(found, "b").identity == "json:name:ann"


def test_a_rule_for_some_clients_says_whether_this_is_one() -> None:
    define("login", "9/h", path="/login/", enforce_percent=50)
    said = {why(asked(address=f"203.0.113.{last}"), "login").partition("; ")[2] for last in range(1, 40)}
    assert said == {"", "enforced for 50 % of clients, and this is none of them"}


def test_a_block_refuses_before_any_rule() -> None:
    define("login", "9/h", path="/login/")
    Override.objects.block(f"ip:{ADDRESS}", reason="scraping")
    found = asked()
    assert words.answer(found) == "REFUSED: blocked. Waiting does not help."
    assert [*words.before_rules(found)][2] == ("Blocks", "all rules, until somebody ends it (scraping)")
    assert line(found, "login").effect == "blocked"


def test_an_exemption_comes_first() -> None:
    define("login", "0/h", path="/login/")
    Override.objects.allow(f"ip:{ADDRESS}", reason="our own")
    found = asked()
    assert found.refused is None
    assert [*words.before_rules(found)][1] == ("Exemptions", "all rules, until somebody ends it (our own)")
    assert line(found, "login").effect == "exempt"


def test_another_rate_replaces_the_limits() -> None:
    define("login", "1/h", path="/login/")
    Override.objects.rate(f"ip:{ADDRESS}", "7/h", rule="login")
    found = asked()
    assert words.uses(line(found, "login")) == "0 of 7 in 1h"
    assert [*words.before_rules(found)][3] == ("Other rates", "rule login, until somebody ends it")


def test_while_limits_are_off_everything_passes_and_what_they_would_do_is_said() -> None:
    define("login", "0/h", path="/login/")
    switch_off.turn_off(600, "campaign", "boss")
    found = asked()
    assert found.refused is None and found.is_off
    assert words.answer(found) == "PASSES: limits are switched off."
    (_, off), *_ = words.before_rules(found)
    assert off.startswith("off until ") and "by boss: campaign" in off
    assert line(found, "login").effect == "refuses"
    switch_off.turn_on()


def test_the_setting_switches_off_too(settings: Any) -> None:
    define("login", "0/h", path="/login/")
    settings.RATEWINDOW = {**settings.RATEWINDOW, "ENABLED": False}
    assert next(words.before_rules(asked())) == ("Limits", "off: the setting ENABLED is False")


@pytest.mark.parametrize(
    "on_error, answer",
    [("allow", "PASSES: no rule refuses it."), ("refuse", "REFUSED by login: Redis does not answer, and the rule refuses then.")],
)
def test_without_redis_the_rule_says_so(on_error: str, answer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    define("login", "5/h", path="/login/", on_error=on_error)
    monkeypatch.setattr("ratewindow.request.decide.stores.store", away)
    found = asked()
    assert "Redis does not answer" in why(found, "login")
    assert words.answer(found).startswith(answer)
    outage.reset()


def away() -> Any:
    raise ConnectionError


def test_a_penalty_is_named() -> None:
    define("login", "1/h", path="/login/", penalty="2h")
    use_up(2)
    assert words.answer(asked()).startswith("REFUSED by login: its penalty locks the client out. Next let through at ")


def test_the_rules_of_the_view_come_after_those_of_the_path() -> None:
    view = ratelimit("explained.outer", "5/h")(ratelimit("explained.inner", "1/h", block=False)(plain(False)))
    define("login", "9/h", path="/login/")
    with site(path("login/", view)):
        found = asked()
        assert [(each.rule.name, each.in_code, each.asks_view) for each in found.lines] == [
            ("login", False, False),
            ("explained.outer", True, False),
            ("explained.inner", True, True),
        ]
        define("login", "0/h", path="/login/", overwrite=True)
        found = asked()
    assert found.refused is not None and found.refused.rule == "login"
    assert {each.rule.name: each.effect for each in found.lines} == {
        "login": "refuses",
        "explained.outer": "passes",
        "explained.inner": "passes",
    }


@pytest.fixture
def failing_key() -> None:
    @ratekey("explained_tenant")
    def tenant(request: HttpRequest) -> str:
        return str(request.tenant)  # type: ignore[attr-defined]  # which a middleware sets


def test_a_key_of_the_sites_that_needs_more_than_is_known_is_missing_and_reported_nowhere(
    failing_key: None, caplog: pytest.LogCaptureFixture
) -> None:
    define("login", "1/h", path="/login/", key="explained_tenant")
    assert "has no explained_tenant, so it is counted per address" in why(asked(), "login")
    assert not site_functions.failing._told_s and not caplog.records
    assert not counters.since_start()


def test_nothing_is_counted_for_the_report_nor_for_the_warnings_about_proxies() -> None:
    define("login", "0/h", path="/login/")
    asked()
    assert not counters.since_start()
    assert explain(Description("GET", "/login/")).request.path_info == "/login/"


def test_pages_for_staff_who_correct_rules_stay_open() -> None:
    boss = User.objects.create_superuser("boss")
    define("all", "0/h", applies_to="all")
    found = asked("/admin/ratewindow/raterule/", user=f"user:{boss.pk}")
    assert found.refused is None and "stays open to staff" in words.answer(found)
    assert asked("/admin/ratewindow/raterule/").refused is None  # it leads to the login
    assert asked("/admin/login/").refused is None and asked("/login/").refused is not None


@pytest.mark.parametrize(
    "wrong, said",
    [
        ({"path": "login/"}, "'login/' is not a path: begin with /, as in /login/"),
        ({"address": "300.1.1.1"}, "'300.1.1.1' is not an address"),
        ({"user": "nobody-of-this-name"}, "'nobody-of-this-name' is no address, and no user has this"),
        ({"method": "G/T"}, "'G/T' is not an HTTP method"),
    ],
)
def test_what_is_no_request_is_an_error_that_says_what_to_write(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said.replace("'", ".")):
        explain(Description(**wrong))


def test_a_whole_url_is_taken_apart_and_a_mounted_site_knows_its_own() -> None:
    define("login", "1/h", path="/login/")
    assert line(asked("https://example.com/login/?next=/x#top"), "login").effect == "passes"
    set_script_prefix("/shop/")
    try:
        assert line(asked("/shop/login/"), "login").effect == "passes"
    finally:
        set_script_prefix("/")


def test_it_is_the_request_path_that_decides_by_name_too() -> None:
    """A rate of `hit` is not at a view: such a rule is named only in code."""
    ratewindow.hit("explained.mail", RequestFactory().get("/"), rate="5/h")
    define("explained.mail", "5/h")
    assert why(asked(), "explained.mail") == "it applies only where code names it"


def test_an_exception_of_the_site_s_own_code_is_an_error_that_says_so() -> None:
    class Failing(APIView):
        throttle_classes = [RuleThrottle]

        def get_throttles(self) -> list[Any]:
            raise KeyError("tenant")

    with (
        site(path("login/", Failing.as_view())),
        pytest.raises(ValueError, match=r"the site's own code fails .*KeyError: 'tenant'"),
    ):
        asked()
