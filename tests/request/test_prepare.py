"""What the store is asked: for a rule that is enforced for some, one client as enforced and another as in shadow."""

from typing import Any

import pytest
import time_machine
from django.http import HttpRequest
from django.test import RequestFactory

import ratewindow
from ratewindow import conf, ratelimit
from ratewindow.counting.counters import counters
from ratewindow.limiter.rates import parse_rates
from ratewindow.models import RateRule
from ratewindow.request.prepare import ask
from ratewindow.rulebook import current
from ratewindow.rules.rule import Rule
from ratewindow.store import state_keys
from tests.support.doors import behind_middleware, decorated, get, plain, statuses

pytestmark = pytest.mark.django_db(transaction=True)

is_async = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])


def define(percent: int, rate: str = "2/m", mode: str = "enforce", **fields: Any) -> RateRule:
    return RateRule.objects.define("login", rate, mode=mode, enforce_percent=percent, overwrite=True, **fields)[0]


def clients() -> tuple[str, str]:
    """An address that the first half is enforced for, and one that it is not."""
    rule = current.rulebook().by_name["login"]
    told = {rule.enforces(state_keys.client_tag(f"ip:{address}")): address for address in (f"198.51.100.{n}" for n in range(50))}
    return told[True], told[False]


@is_async
def test_some_clients_are_refused_and_the_others_counted_as_in_shadow(is_async: bool) -> None:
    define(50, prefix="/")
    seen: list[HttpRequest] = []
    site = behind_middleware(plain(is_async, seen))
    chosen, other = clients()
    assert statuses(site, 4, REMOTE_ADDR=chosen) == [200, 200, 429, 429]
    assert statuses(site, 4, REMOTE_ADDR=other) == [200] * 4
    told = [request.ratewindow.decisions[0].outcome for request in seen]  # type: ignore[attr-defined]
    assert told == ["passed", "passed", *["passed", "passed", "would_refuse", "would_refuse"]]
    minutes = [sums["login"] for sums in counters.held().values()]  # two, if a minute ends meanwhile
    assert [sum(getattr(each, name) for each in minutes) for name in ("passed", "refused", "would_refuse")] == [6, 2, 2]


def test_only_those_it_is_enforced_for_hear_of_it() -> None:
    define(50, prefix="/")
    site = behind_middleware(plain(False))
    chosen, other = clients()
    assert get(site, REMOTE_ADDR=chosen)["RateLimit-Policy"] == '"login";q=2;w=60'
    assert [name for name, _ in get(site, REMOTE_ADDR=other).items()] == ["Content-Type"]


@is_async
def test_through_two_doors_each_is_charged_once(is_async: bool) -> None:
    define(50, "3/m", path="/login/")
    site = behind_middleware(decorated(is_async, "login"))
    chosen, other = clients()
    assert statuses(site, 4, "/login/", REMOTE_ADDR=chosen) == [200, 200, 200, 429]
    get(site, "/login/", REMOTE_ADDR=other)
    assert ratewindow.peek("login", f"ip:{other}").decisions[0].remaining == 2


def test_whoever_is_asked_about_by_name_is_judged_as_at_the_door() -> None:
    define(50, "1/m")
    chosen, other = clients()
    assert [[ratewindow.hit("login", f"ip:{who}").allowed for _ in range(2)] for who in (chosen, other)] == [
        [True, False],
        [True, True],
    ]


def test_who_comes_without_the_key_is_told_apart_by_address() -> None:
    define(50, "5/m", prefix="/", key="header:x-api-key", on_missing="refuse")
    site = behind_middleware(plain(False))
    chosen, other = clients()
    assert statuses(site, 2, REMOTE_ADDR=chosen) == [429, 429]
    assert statuses(site, 2, REMOTE_ADDR=other) == [200, 200]


@time_machine.travel(1_000_000)
def test_who_comes_without_the_key_keeps_the_code_of_the_refusal() -> None:
    rules = [Rule(name, parse_rates("5/m"), key="header:x-api-key", on_missing="refuse") for name in ("api", "login")]

    def codes(address: str) -> list[str]:
        request = RequestFactory().get("/", REMOTE_ADDR=address)
        return [ask(request, [rule], 1, conf.current()).settled[0].id for rule in rules]

    assert codes("203.0.113.9") == codes("203.0.113.9")
    assert len({*codes("203.0.113.9"), *codes("203.0.113.10")}) == 4


def test_a_rate_in_code_gives_way_to_a_rule_that_is_enforced_for_some() -> None:
    define(50, "1/m")
    view = ratelimit("login", "9/m")(plain(False))
    chosen, other = clients()
    assert statuses(view, 2, REMOTE_ADDR=chosen) == [200, 429]
    assert statuses(view, 12, REMOTE_ADDR=other) == [200] * 12


def test_with_penalty_and_counted_refusals_too() -> None:
    define(50, "1/s", prefix="/", penalty="15m", count_refused=True)
    site = behind_middleware(plain(False))
    chosen, other = clients()
    assert statuses(site, 2, REMOTE_ADDR=chosen) == [200, 429]
    assert int(get(site, REMOTE_ADDR=chosen)["Retry-After"]) > 890
    assert statuses(site, 3, REMOTE_ADDR=other) == [200] * 3


@pytest.mark.parametrize("refuses", [{"rate": "0/h"}, {"key": "header:x-other", "on_missing": "refuse"}], ids=str)
def test_a_rule_in_shadow_without_its_key_is_other_where_another_rule_refuses(refuses: dict[str, Any]) -> None:
    """Else the report would count a refused request as passed."""
    RateRule.objects.define("try", "9/h", prefix="/", key="header:x-app", on_missing="refuse")
    view = behind_middleware(plain(False))
    assert statuses(view, 1) == [200]
    RateRule.objects.define("login", prefix="/", mode="enforce", **{"rate": "9/h", **refuses})
    assert statuses(view, 1) == [429]
    counted = [sums["try"] for sums in counters.held().values()]
    assert [sum(getattr(each, name) for each in counted) for name in ("passed", "would_refuse", "other")] == [1, 1, 1]
