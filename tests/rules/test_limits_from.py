"""Limits from code that a rule in the admin takes: which hold, how often the function is asked, and what happens if it fails."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.test import RequestFactory
from rest_framework.response import Response
from rest_framework.views import APIView

import ratewindow
from ratewindow.checks.rows import check_rules
from ratewindow.identity.site_answers import SiteFunctions
from ratewindow.limiter import Window
from ratewindow.models import Override, RateRule
from ratewindow.rest_framework import RuleThrottle
from ratewindow.rulebook import reading
from ratewindow.rules import limits_from
from ratewindow.testing import Rule, override_rules
from tests.support.doors import behind_middleware, decorated, get, plain, statuses

pytestmark = pytest.mark.django_db(transaction=True)

PLANS = {"user:1": "3/m", "user:2": "5/m; 100/d", "user:3": None}
Limited = Callable[[str, int], list[bool]]  # of a user and a number of requests: which pass


@pytest.fixture(autouse=True)
def _no_functions_of_other_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits_from, "registered", SiteFunctions("limits", limits_from._HOLDS))


@pytest.fixture
def asked() -> list[Any]:
    """What the function has been asked about."""
    about: list[Any] = []

    @ratewindow.limits("by plan")
    def by_plan(request: Any) -> Any:
        about.append(request)
        return PLANS[f"user:{request.user.pk}"]

    return about


def rule(**fields: Any) -> RateRule:
    made = {"key": "user", "mode": "enforce", "limits_from": "by plan", "overwrite": True, **fields}
    return RateRule.objects.define("api", made.pop("rate", "2/m"), **made)[0]


def requests_of(user: int) -> dict[str, Any]:
    return {"HTTP_X_USER": str(user)}


def signed_in(handler: Any) -> Any:
    """The handler, with the user whom the header X-User names."""
    is_async = asyncio.iscoroutinefunction(handler)

    def sign_in(request: HttpRequest) -> HttpRequest:
        request.user = get_user_model()(pk=int(request.headers["X-User"]))
        return request

    async def ahandle(request: HttpRequest) -> Any:
        return await handler(sign_in(request))

    return ahandle if is_async else lambda request: handler(sign_in(request))


class Limited_View(APIView):  # noqa: N801
    throttle_classes = (RuleThrottle,)
    throttle_rules = ("api",)

    def get(self, request: Any) -> Response:
        return Response("ok")

    def initialize_request(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        made = super().initialize_request(request, *args, **kwargs)
        made.user = request.user
        return made


DOORS: dict[str, Callable[[], Any]] = {
    "middleware": lambda: signed_in(behind_middleware(plain(is_async=False))),
    "async middleware": lambda: signed_in(behind_middleware(plain(is_async=True))),
    "decorator": lambda: signed_in(decorated(False, "api")),
    "async decorator": lambda: signed_in(decorated(True, "api")),
    "throttle": lambda: signed_in(Limited_View.as_view()),
}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.usefixtures("asked")
def test_each_client_has_the_limits_that_the_function_returns(door: str) -> None:
    rule(**({"prefix": "/"} if "middleware" in door else {}))
    site = DOORS[door]()
    passed = {user: statuses(site, 8, **requests_of(user)).count(200) for user in (1, 2, 3)}
    assert passed == {1: 3, 2: 5, 3: 2}


def test_a_call_by_identity_asks_a_function_of_the_identity() -> None:
    ratewindow.limits("by plan")(lambda identity: PLANS[identity])
    rule()
    assert [sum(map(bool, [ratewindow.hit("api", f"user:{user}") for _ in range(8)])) for user in (1, 2, 3)] == [3, 5, 2]


def test_an_awaited_call_by_identity_does_not_block_the_event_loop() -> None:
    @ratewindow.limits("by plan")
    def by_plan(identity: str) -> Any:
        return PLANS[identity] if RateRule.objects.exists() else "1/m"  # a query, which Django refuses on an event loop

    async def passed() -> int:
        return sum([bool(await ratewindow.ahit("api", "user:2")) for _ in range(8)])

    rule()
    assert asyncio.run(passed()) == 5


def test_a_function_of_the_request_is_not_asked_about_an_identity(asked: list[Any]) -> None:
    rule()
    assert [bool(ratewindow.hit("api", "user:1")) for _ in range(3)] == [True, True, False]
    assert asked == []


def test_a_function_with_another_argument_is_asked_about_what_there_is() -> None:
    ratewindow.limits("by plan")(lambda who: "4/m" if who == "user:1" or who.user.pk == 1 else None)
    rule()
    assert sum(bool(ratewindow.hit("api", "user:1")) for _ in range(6)) == 4
    assert statuses(DOORS["decorator"](), 1, **requests_of(1)) == [429]


@pytest.mark.parametrize("door", ["decorator", "async decorator", "throttle"])
def test_an_async_function_is_awaited_everywhere(door: str) -> None:
    @ratewindow.limits("by plan")
    async def by_plan(request: Any) -> Any:
        await asyncio.sleep(0)
        return PLANS[f"user:{request.user.pk}"]

    rule()
    assert statuses(DOORS[door](), 4, **requests_of(1)) == [200, 200, 200, 429]


@pytest.mark.parametrize("is_async", [False, True])
def test_the_function_is_asked_once_for_a_request(is_async: bool, asked: list[Any]) -> None:
    for name in ("first", "second"):
        RateRule.objects.define(name, "9/m", prefix="/", key="user", mode="enforce", limits_from="by plan")
    RateRule.objects.define("third", "9/m", key="user", mode="shadow", limits_from="by plan")
    site = signed_in(behind_middleware(decorated(is_async, "third")))
    assert statuses(site, 2, **requests_of(1)) == [200, 200]
    assert len(asked) == 2


def test_a_function_of_the_identity_is_asked_once_for_each_that_rules_count(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    ratewindow.limits("by plan")(lambda identity: asked.append(identity))
    for name, key in [("first", "user"), ("second", "user"), ("third", "user+ip")]:
        RateRule.objects.define(name, "9/m", prefix="/", key=key, mode="enforce", limits_from="by plan")
    get(DOORS["middleware"](), **requests_of(1))
    assert asked == ["user:1", ("user:1", "ip:127.0.0.1")]


def test_what_is_cached_is_asked_again_once_its_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s, plans, asked = [0.0], {"user:1": "2/m"}, []

    @ratewindow.limits("by plan", cache="10s")
    def by_plan(identity: str) -> Any:
        asked.append(identity)
        return plans.get(identity)

    monkeypatch.setattr("time.monotonic", lambda: now_s[0])
    rule(rate="1/m")
    with override_rules(Rule("api", "1/m", key="user", limits_from="by plan")):
        plans["user:1"] = "2/m"
        assert [bool(ratewindow.hit("api", "user:1")) for _ in range(3)] == [True, True, False]
        plans["user:1"], now_s[0] = "4/m", 9.9
        assert not ratewindow.hit("api", "user:1")
        now_s[0] = 10.1
        assert [bool(ratewindow.hit("api", "user:1")) for _ in range(3)] == [True, True, False]
        assert asked == ["user:1", "user:1"]


def test_an_identity_that_was_sent_to_fill_the_memory_is_not_cached() -> None:
    asked: list[Any] = []
    ratewindow.limits("by plan", cache="1h")(lambda identity: asked.append(identity))
    rule(key="header:x-api-key")
    for _ in range(2):
        ratewindow.hit("api", f"header:x-api-key:{'k' * 5000}")
        ratewindow.hit("api", "header:x-api-key:k")
    assert len(asked) == 3


def test_only_what_depends_on_the_identity_alone_can_be_cached() -> None:
    with pytest.raises(ValueError, match="name the function's argument identity"):
        ratewindow.limits("by plan", cache="1m")(lambda request: "5/m")


@pytest.mark.parametrize(
    ("returned", "passed"),
    [
        ("4/m", 4),
        ((4, 60), 4),
        (["4/m", "100/d"], 4),
        (("6/m", (4, 3600)), 4),
        (Window(4, 60_000, "sliding_log"), 4),
        ([Window(4, 60_000), "9/h"], 4),
        ("0/m", 0),
        (None, 2),
        ([], 2),
        ("", 2),
        ("many", 2),
        (5, 2),
        ({"4/m"}, 2),
        (ValueError("no plan"), 2),
    ],
)
def test_what_a_function_may_return(returned: Any, passed: int, caplog: pytest.LogCaptureFixture) -> None:
    @ratewindow.limits("by plan")
    def by_plan(identity: str) -> Any:
        if isinstance(returned, Exception):
            raise returned
        return returned

    rule()
    with caplog.at_level(logging.ERROR, "ratewindow"):
        assert sum(bool(ratewindow.hit("api", "user:1")) for _ in range(10)) == passed
    failures = [record for record in caplog.records if "limits function" in record.message]
    assert len(failures) == (passed == 2 and returned is not None)  # logged once for ten calls
    assert all("the rule's own limits hold" in record.message for record in failures)


def test_a_name_that_no_code_registers_leaves_the_rules_own_limits(caplog: pytest.LogCaptureFixture, asked: list[Any]) -> None:
    rule()
    RateRule.objects.update(limits_from="gone")
    reading.reload()
    assert [bool(ratewindow.hit("api", "user:1")) for _ in range(3)] == [True, True, False]
    assert "no code registers 'gone': choose from by plan" in caplog.text
    (message,) = [each for each in check_rules() if each.id == "ratewindow.W025"]
    assert "takes its limits from 'gone'" in message.msg


def test_a_rule_cannot_name_what_no_code_registers(asked: list[Any]) -> None:
    with pytest.raises(ValueError, match="no code registers 'by plam': choose from by plan"):
        rule(limits_from="by plam")
    with pytest.raises(ValidationError, match="no code registers 'by plam'"):
        RateRule(name="other", limits_from="by plam").full_clean()


def test_two_functions_cannot_have_one_name(asked: list[Any]) -> None:
    with pytest.raises(ValueError, match="limits 'by plan' belongs to"):
        ratewindow.limits("by plan")(lambda identity: None)


@pytest.mark.parametrize("name", ["", " ", "a\nb", "x" * 65, 5, lambda identity: None])
def test_a_bad_name_is_told(name: Any) -> None:
    with pytest.raises(ValueError, match="is no name: write for example"):
        ratewindow.limits(name)


@pytest.mark.parametrize("function", [lambda: None, lambda one, two: None, "5/m"])
def test_a_function_takes_one_argument(function: Any) -> None:
    with pytest.raises(ValueError, match="register a function of one argument"):
        ratewindow.limits("by plan")(function)


def test_another_plan_keeps_what_was_counted() -> None:
    plans: dict[str, str | None] = {}
    ratewindow.limits("by plan")(plans.get)
    for algorithm in ("sliding_log", "fixed_window", "token_bucket"):
        rule(rate="2/m", algorithm=algorithm)
        who = f"user:{algorithm}"
        assert [bool(ratewindow.hit("api", who)) for _ in range(3)] == [True, True, False], algorithm
        plans[who] = "4/m"
        assert [bool(ratewindow.hit("api", who)) for _ in range(3)] == [True, True, False], algorithm
        plans[who] = None
        assert not ratewindow.hit("api", who), algorithm


def test_an_override_outranks_the_function_and_counts_on() -> None:
    ratewindow.limits("by plan")(lambda identity: "2/m")
    rule(rate="1/m", algorithm="fixed_window")
    assert [bool(ratewindow.hit("api", "user:1")) for _ in range(3)] == [True, True, False]
    Override.objects.rate("user:1", "3/m", rule="api")
    assert [bool(ratewindow.hit("api", "user:1")) for _ in range(2)] == [True, False]
    Override.objects.allow("user:1", rule="api")
    assert ratewindow.hit("api", "user:1")


def test_what_the_rules_algorithm_cannot_count_is_counted_by_the_usual_one() -> None:
    ratewindow.limits("by plan")(lambda identity: "200000/m")
    rule(rate="1/m", algorithm="sliding_log")  # which keeps 100,000 at most
    assert ratewindow.peek("api", "user:1").limit == 200_000
    Override.objects.rate("user:1", "300000/m", rule="api")
    assert ratewindow.peek("api", "user:1").limit == 300_000


def test_a_reset_deletes_the_counts_by_every_limit(asked: list[Any]) -> None:
    plans: dict[str, Any] = {"user:1": Window(2, 60_000, "sliding_log")}
    limits_from.registered.clear()
    ratewindow.limits("by plan")(plans.get)
    rule(rate="1/m")
    for reset in (ratewindow.reset, lambda *who: asyncio.run(ratewindow.areset(*who))):
        assert [bool(ratewindow.hit("api", "user:1")) for _ in range(3)] == [True, True, False]
        gone = plans.pop("user:1")
        assert [bool(ratewindow.hit("api", "user:1")) for _ in range(2)] == [True, False]
        plans["user:1"] = gone
        reset("api", "user:1")
        assert ratewindow.peek("api", "user:1").remaining == 2
        plans.pop("user:1")
        assert ratewindow.peek("api", "user:1").remaining == 1
        plans["user:1"] = gone


@pytest.mark.usefixtures("asked")
def test_the_headers_and_the_decision_say_which_limits_hold() -> None:
    rule()
    answer = get(DOORS["decorator"](), **requests_of(2))
    assert answer["RateLimit-Policy"] == '"api:5/m";q=5;w=60, "api:100/d";q=100;w=86400'
    request = RequestFactory().get("/")
    request.user = get_user_model()(pk=1)
    assert (ratewindow.hit("api", request).window, ratewindow.peek("api", request).limit) == ("3/m", 3)


@pytest.mark.usefixtures("asked")
def test_a_rule_in_shadow_is_judged_by_the_limits_of_each_client() -> None:
    rule(mode="shadow")
    request = RequestFactory().get("/")
    request.user = get_user_model()(pk=1)
    outcomes = [ratewindow.hit("api", request).parts[0].outcome for _ in range(4)]
    assert outcomes == ["passed", "passed", "passed", "would_refuse"]


def test_a_rule_of_a_test_with_a_rate_has_that_rate(asked: list[Any]) -> None:
    rule()
    with override_rules(api="7/m"):
        assert ratewindow.peek("api", "user:1").limit == 7
