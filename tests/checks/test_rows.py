"""Rules that meet nobody, hold for nobody, or are walked around."""

from typing import Any

import pytest
from django.db import connection
from django.test import override_settings

from ratewindow import ratelimit
from ratewindow.middleware import RateWindowMiddleware
from ratewindow.models import RateRule
from ratewindow.rules import code_rates
from tests.support.check_messages import found

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _code(monkeypatch: pytest.MonkeyPatch) -> None:
    code_rates.load_names()
    monkeypatch.setattr(code_rates, "_uses", {})


class OurRateWindowMiddleware(RateWindowMiddleware):
    """One that a site has made of ours."""


def view(request: object) -> None:
    raise NotImplementedError


def told() -> dict[str, str]:
    return found(databases=["default"])


def define(name: str, **fields: Any) -> None:
    RateRule.objects.define(name, "5/m", **{"mode": "enforce", **fields})


def test_good_rules_are_no_news() -> None:
    define("all", applies_to="all")
    define("login", path="/login/", key="ip+post:username")
    define("orders", route="order")
    define("admin", route="admin")
    assert told() == {}


def test_a_row_that_cannot_be_enforced_is_an_error() -> None:
    define("bad", path="/login/")
    RateRule.objects.update(key="shoe_size")
    assert told()["ratewindow.E004"].startswith("Rule 'bad' cannot be enforced: 'shoe_size' is not a key")


def test_rules_by_path_without_the_middleware_are_a_warning() -> None:
    define("login", path="/login/")
    with override_settings(MIDDLEWARE=["no.such.Middleware", "django.middleware.common.CommonMiddleware"]):
        assert "1 rule applies by path or route, such as 'login'" in told()["ratewindow.W007"]
    with override_settings(MIDDLEWARE=[f"{__name__}.OurRateWindowMiddleware"]):
        assert told() == {}


def test_rules_that_code_names_need_no_middleware() -> None:
    define("named")
    ratelimit("named")(view)
    with override_settings(MIDDLEWARE=[]):
        assert told() == {}


@pytest.mark.parametrize("fields", [{"route": "logni"}, {"route": "shop:cart"}])
def test_a_rule_for_what_the_urlconf_does_not_have_is_a_warning(fields: dict[str, str]) -> None:
    define("lost", **fields)
    assert "which the URLconf does not have" in told()["ratewindow.W014"]


def test_so_is_one_whose_cost_never_fits() -> None:
    define("search", path="/search/", cost=6)
    assert "'search' refuses every request." in told()["ratewindow.W021"]


def test_a_rule_that_only_calls_may_name_and_a_limit_of_zero_are_no_news() -> None:
    define("sms")
    RateRule.objects.define("closed", "0/m", path="/search/", mode="enforce")
    assert told() == {}


def test_so_is_a_path_without_a_page() -> None:
    define("lost", path="/login")
    with override_settings(ROOT_URLCONF="tests.serving.site.urls"):
        assert "Rule 'lost' is for '/login', which the URLconf does not have" in told()["ratewindow.W014"]


@pytest.mark.parametrize("key", ["header:x-api-key", "cookie:basket+query:token", "get:token", "post:username", "json:email"])
def test_a_rule_by_what_clients_choose_alone_is_a_warning(key: str) -> None:
    define("login", path="/login/", key=key)
    assert "which clients choose: a client that sends another value each time is never refused" in told()["ratewindow.W015"]


@pytest.mark.parametrize(
    "beside",
    [
        {"applies_to": "all"},
        {"path": "/login/"},
        {"prefix": "/log"},
        {"path": "/login/", "key": "user"},
        {"path": "/login/", "methods": "GET,POST"},
    ],
)
def test_one_beside_it_that_clients_do_not_choose_settles_it(beside: dict[str, str]) -> None:
    define("login", path="/login/", key="post:username", methods="POST")
    define("beside", **beside)
    assert told() == {}


@pytest.mark.parametrize(
    "beside",
    [
        {"path": "/logout/"},
        {"prefix": "/api/"},
        {"path": "/login/", "mode": "shadow"},
        {"path": "/login/", "key": "ip+cookie:basket"},
    ],
)
def test_one_that_does_not_hold_for_the_same_requests_does_not(beside: dict[str, str]) -> None:
    define("login", path="/login/", key="post:username", methods="POST")
    define("beside", **beside)
    assert "ratewindow.W015" in told()


def test_rules_that_are_off_are_left_alone() -> None:
    define("lost", route="logni", key="post:username", mode="off")
    assert told() == {}


def test_a_regular_expression_that_has_no_room_is_an_error_that_names_its_rule() -> None:
    define("small", regex="^/small/")
    for number in range(20):
        define(f"large-{number}", regex="^/large/")
        RateRule.objects.filter(name=f"large-{number}").update(pattern=f"[a{chr(0x100 + number)}].{{{300 - number}}}N")
    assert list(told()) == ["ratewindow.E004"]
    assert "Rule 'large-" in told()["ratewindow.E004"]
    assert "are too large" in told()["ratewindow.E004"]


def test_migrate_which_makes_the_tables_is_not_told_that_they_are_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE ratewindow_raterule RENAME TO ratewindow_elsewhere")
    assert "W002" in "".join(told())
    monkeypatch.setattr("sys.argv", ["manage.py", "migrate"])
    assert "W002" not in "".join(told())
