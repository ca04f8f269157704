"""What a log cannot say of a request is said beside the numbers, and holds as the rule says of requests without it."""

from typing import Any

import pytest
from django.http import HttpRequest, HttpResponse
from django.test import override_settings
from django.urls import path

from ratewindow import conf, ratelimit
from ratewindow.contrib.backtest.result import Bounds
from ratewindow.contrib.backtest.run import NAME, Plan, backtest, of_rates, of_rule, of_site
from ratewindow.models import RateRule
from ratewindow.request import doors
from tests.contrib.backtest.support.logged import Logged, asked
from tests.support.urlconfs import site

pytestmark = pytest.mark.django_db

TEN = [asked(number / 10) for number in range(10)]


def tried(rates, key="ip", **fields) -> Plan:
    """A rule of the site with these fields."""
    RateRule.objects.define(NAME, rates, prefix="/", key=key, overwrite=True, **fields)
    return of_rule(NAME)


def kinds(found):
    return [note.kind for note in found.notes]


@pytest.mark.parametrize("key", ["post:username", "session", "ip+json:user.email", "tests.support.doors.get", "jwt:tenant"])
@pytest.mark.parametrize("on_missing, refused", [("ip", 8), ("allow", 0), ("refuse", 10)])
def test_a_key_that_no_log_has(key, on_missing, refused):
    found = backtest(Logged(TEN), tried("2/m", key, on_missing=on_missing))
    assert found.total.refused == Bounds(refused, refused)
    [note] = [note for note in found.notes if note.kind == "missing"]
    assert key in str(note)


def test_a_header_that_this_log_lacks_and_one_that_it_has():
    log = [asked(number / 10, headers={"x-api-key": f"key{number % 2}"}) for number in range(10)]
    found = backtest(Logged(log), of_rates("2/m", "header:x-api-key"))
    assert found.total.refused == Bounds(6, 6)
    assert "missing" not in kinds(found)
    found = backtest(Logged(log), of_rates("2/m", "header:x-other"))
    assert (found.total.refused, found.total.clients) == (Bounds(8, 8), 1)
    assert "missing" in kinds(found)


def test_keys_that_the_line_of_a_request_has():
    log = [
        asked(number / 10, target=f"/?token={number % 2}", agent="curl", headers={"cookie": "basket=7"}) for number in range(10)
    ]
    for key, refused in {"query:token": 6, "header:user-agent": 8, "cookie:basket": 8, "global": 8, "method": 8}.items():
        assert backtest(Logged(log), of_rates("2/m", key)).total.refused == Bounds(refused, refused), key


def urls(*paths):
    return [path(each, HttpResponse) for each in paths]


@site(*urls("a", "b"))
def test_each_path_of_each_client_is_known_from_its_second_request_on():
    """A path that leads nowhere is no path of this key, however often it is asked for."""
    log = [asked(number / 10, f"203.0.113.{number % 2}", f"/{'ab?c'[number % 4]}") for number in range(40)]
    found = backtest(Logged(log), of_rates("2/m", "ip+path"))
    clients = {(entry.client, entry.target.partition("?")[0]) for entry in log if entry.target in ("/a", "/b")}
    assert found.total.clients == len(clients) + 2
    assert found.total.refused == Bounds(*[40 - 2 * found.total.clients] * 2)
    for on_missing, requests in {"allow": 20, "refuse": 40, "ip": 40}.items():
        numbers = backtest(Logged(log), tried("2/m", "path", on_missing=on_missing)).total
        assert numbers.requests == requests, on_missing


def test_users_are_clients_by_the_names_that_they_log_in_with():
    log = [asked(number / 10, f"203.0.113.{number}", user=("ann", "", "gone")[number % 3]) for number in range(12)]
    found = backtest(Logged(log), of_rates("1/m", "user_or_ip"))
    assert {each.client for each in found.caught} == {"user:ann", "user:gone"}
    assert found.total.clients == 6


def test_a_failed_login_is_not_in_a_log_so_every_request_counts():
    found = backtest(Logged(TEN), tried("2/m", count_when="login_failed", hold=True))
    assert found.total.refused == Bounds(8, 8)
    assert "login_failed" in kinds(found)


def test_statuses_count_where_the_log_has_them():
    log = [asked(number / 10, status=401 if number % 2 else 200) for number in range(10)]
    found = backtest(Logged(log), tried("2/m", count_when="401"))
    assert found.total.refused == Bounds(6, 6) and "no_status" not in kinds(found)  # from the second 401 on
    found = backtest(Logged([asked(number / 10, status=0) for number in range(10)]), tried("2/m", count_when="401"))
    assert found.total.refused == Bounds(0, 0) and "no_status" in kinds(found)


def test_requests_that_were_refused_already_are_counted():
    found = backtest(Logged([*TEN, asked(2, status=429)]), of_rates("2/m"))
    [note] = [note for note in found.notes if note.kind == "refused_before"]
    assert str(note).startswith("1 of the requests")


def test_the_address_is_the_one_that_the_site_would_see(settings):
    log = [asked(number / 10, "10.0.0.1", headers={"x-forwarded-for": f"203.0.113.{number % 2}"}) for number in range(10)]
    assert backtest(Logged(log), of_rates("2/m")).total.clients == 1
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "TRUSTED_PROXIES": ["10.0.0.0/8"]}):
        found = backtest(Logged(log), of_rates("2/m"))
        assert (found.total.clients, found.total.refused) == (2, Bounds(6, 6))


def test_names_are_clients_each_whatever_counts_as_one_address(settings):
    log = [asked(number / 10, f"host{number}.example") for number in range(10)]
    for prefix in (64, 48):
        with override_settings(RATEWINDOW={**settings.RATEWINDOW, "IPV6_PREFIX": prefix}):
            assert conf.current().ipv6_prefix == prefix
            found = backtest(Logged([*log, *log]), of_rates("1/m"))
            assert found.total.clients == 10
            assert {each.name for each in found.caught} == {entry.client for entry in log}


def test_a_rule_that_no_request_meets_is_listed_with_nothing():
    RateRule.objects.define("elsewhere", "1/m", path="/elsewhere/", mode="shadow")
    found = backtest(Logged(TEN), of_rule("elsewhere"))
    [each] = found.rules
    assert (each.name, each.numbers.requests, each.rule.mode) == ("elsewhere", 0, "enforce")


def test_a_rule_of_the_site_at_other_rates():
    RateRule.objects.define("tried", "100/m", prefix="/", mode="off", algorithm="sliding_log")
    found = backtest(Logged(TEN), of_rule("tried", "2/m"))
    assert found.total.refused == Bounds(8, 8)
    assert found.rules[0].rule.windows[0].algorithm == "sliding_log"


@pytest.mark.parametrize(
    "given, problem",
    [
        ({"rates": ""}, "limits nothing"),
        ({"rates": "5 a fortnight"}, "is not a rate"),
        ({"rates": "5/m", "key": "shoe"}, "is not a key"),
        ({"rates": "5/m", "path": "/a", "prefix": "/b"}, "write one of them"),
        ({"rates": "5/m", "prefix": "b"}, "is not a path"),
        ({"rates": "5/m", "methods": "GTE"}, "is not a registered HTTP method"),
    ],
)
def test_what_is_no_rule(given, problem):
    with pytest.raises(ValueError, match=problem):
        of_rates(**given)


def test_a_rule_that_nobody_has_defined():
    RateRule.objects.define("login", "5/m", path="/login/")
    with pytest.raises(ValueError, match="there is no rule 'logn'"):
        of_rule("logn")


@pytest.mark.parametrize("on_missing", ["ip", "allow", "refuse"])
def test_half_of_the_requests_have_the_key(on_missing):
    log = [asked(number / 10, user="ann" if number % 2 else "") for number in range(10)]
    assert "missing" not in kinds(backtest(Logged(log), tried("2/m", "user", on_missing=on_missing)))


def test_a_rule_that_applies_to_no_request_says_so():
    assert "unmet" in kinds(backtest(Logged(TEN), of_rates("2/m", prefix="/api/")))
    for found in (of_rates("2/m", prefix="/"), tried("2/m", "session", on_missing="allow")):
        assert "unmet" not in kinds(backtest(Logged(TEN), found))


async def a_rate(request: HttpRequest) -> str:
    return "2/m"


@ratelimit("awaited", a_rate)
async def awaited(request: HttpRequest) -> HttpResponse:
    return HttpResponse()


def test_a_rate_that_must_be_awaited_is_left_out_and_that_is_said():
    with site(path("", awaited)):
        found = backtest(Logged(TEN), of_site())
    assert found.total.refused == Bounds(0, 0)
    assert [str(note) for note in found.notes if note.kind == "rate"] == [
        "Rule awaited: its rate is an async function of the site, so the rule is left out."
    ]


def failing(request: HttpRequest, view: Any) -> list[Any]:
    raise LookupError("no tenant")


def test_a_tried_rule_does_not_run_the_code_of_views_that_do_not_name_it(monkeypatch):
    monkeypatch.setattr(doors, "finders", [failing])
    with site(*urls("")):
        assert backtest(Logged(TEN), of_rates("2/m")).total.refused == Bounds(8, 8)


def test_where_the_code_of_a_view_fails_it_is_said(monkeypatch):
    monkeypatch.setattr(doors, "finders", [failing])
    with site(*urls("")), pytest.raises(ValueError, match=r"own code fails .* GET /: LookupError: no tenant"):
        backtest(Logged(TEN), of_site())


def test_of_a_log_without_requests_no_more_is_said_than_that():
    assert kinds(backtest(Logged([]), of_rates("2/m"))) == ["people", "empty"]
