"""What a client may know of its own limits."""

import asyncio
import math
import random
import re
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
import time_machine
from django.contrib.auth.models import AnonymousUser, User
from django.core.exceptions import SynchronousOnlyOperation
from django.http import HttpRequest, HttpResponse
from django.template import RequestContext, Template
from django.test import RequestFactory, override_settings
from rest_framework.test import APIRequestFactory, force_authenticate

import ratewindow
from ratewindow import limit, ratelimit
from ratewindow.identity.site_answers import SiteFunctions
from ratewindow.limiter import Window
from ratewindow.middleware import RateWindowMiddleware
from ratewindow.models import Override, RateRule
from ratewindow.operations.usage import Usage
from ratewindow.rules import code_rates, limits_from
from ratewindow.testing import Rule, override_rules
from tests.support.clock import START_MS

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _no_code_rules_of_other_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    code_rates.load_names()
    monkeypatch.setattr(code_rates, "_uses", {})


def define(name: str, rate: str, **fields: Any) -> RateRule:
    return RateRule.objects.define(name, rate, **{"mode": "enforce", "key": "user", "overwrite": True, **fields})[0]


def request_of(user: int | None, address: str = "203.0.113.9", path: str = "/") -> HttpRequest:
    request = RequestFactory().get(path, REMOTE_ADDR=address)
    request.user = AnonymousUser() if user is None else User(pk=user)
    return request


def ok(request: HttpRequest) -> HttpResponse:
    return HttpResponse("ok")


def shown(who: Any) -> list[tuple[Any, ...]]:
    return [(each.rule, each.window, each.limit, each.used, each.remaining) for each in ratewindow.usage(who)]


def test_each_limit_of_each_enforced_rule_is_listed_with_what_is_used() -> None:
    define("api", "5/m; 100/d")
    define("by-address", "9/h", key="ip")
    define("shadow", "1/m", mode="shadow")
    define("off", "1/m", mode="off")
    for _ in range(2):
        assert ratewindow.hit("api", "user:1")
    assert shown(request_of(1)) == [
        ("api", "5/m", 5, 2, 3),
        ("api", "100/d", 100, 2, 98),
        ("by-address", "9/h", 9, 0, 9),
    ]
    assert shown("user:1") == [("api", "5/m", 5, 2, 3), ("api", "100/d", 100, 2, 98)]
    assert shown("ip:203.0.113.9") == [("by-address", "9/h", 9, 0, 9)]
    assert asyncio.run(ratewindow.ausage("user:2")) == ratewindow.usage("user:2")


def test_asking_costs_nothing() -> None:
    define("api", "2/m")
    for _ in range(5):
        ratewindow.usage("user:1")
        asyncio.run(ratewindow.ausage(request_of(1)))
    assert [bool(ratewindow.hit("api", "user:1")) for _ in range(3)] == [True, True, False]


def test_when_more_is_left_is_said() -> None:
    define("api", "2/m")
    (before,) = ratewindow.usage("user:1")
    assert (before.reset_after, before.retry_after) == (0.0, None)
    ratewindow.hit("api", "user:1")
    (used,) = ratewindow.usage("user:1")
    assert used.reset_after is not None and 59 < used.reset_after <= 60 and used.retry_after is None
    ratewindow.hit("api", "user:1")
    (full,) = ratewindow.usage("user:1")
    assert full.retry_after is not None and 59 < full.retry_after <= 60 and full.remaining == 0


def test_a_locked_client_has_nothing_left_until_the_lock_ends() -> None:
    define("api", "1/s", penalty="10m")
    assert [bool(ratewindow.hit("api", "user:1")) for _ in range(2)] == [True, False]
    (locked,) = ratewindow.usage("user:1")
    assert locked.remaining == 0 and locked.retry_after is not None and 599 < locked.retry_after <= 600


def test_limits_of_code_and_other_rates_are_listed_as_they_hold() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limits_from, "registered", SiteFunctions("limits", limits_from._HOLDS))
        ratewindow.limits("by plan")(lambda identity: {"user:1": "9/m"}.get(identity))
        define("api", "2/m", limits_from="by plan")
        assert shown("user:1") == shown(request_of(1)) == [("api", "9/m", 9, 0, 9)]
        assert asyncio.run(ratewindow.ausage("user:1")) == ratewindow.usage("user:1")
        assert shown("user:2") == [("api", "2/m", 2, 0, 2)]
        Override.objects.rate("user:1", "20/m", rule="api")
        assert shown("user:1") == [("api", "20/m", 20, 0, 20)]
        Override.objects.allow("user:1")
        assert shown("user:1") == shown(request_of(1)) == []


def test_a_blocked_client_may_do_nothing_until_the_block_ends() -> None:
    define("api", "2/m")
    Override.objects.block("user:1", duration="1h")
    (blocked,) = ratewindow.usage("user:1")
    assert (blocked.rule, blocked.window, blocked.limit) == ("api", "", 0)
    assert blocked.retry_after is not None and 3590 < blocked.retry_after <= 3600


def test_a_soft_limit_says_how_much_is_used_beyond_it() -> None:
    define("quota", "2/30d", algorithm="fixed_window", aligned_to="month", soft=True)
    for _ in range(5):
        assert ratewindow.hit("quota", "user:1")
    (quota,) = ratewindow.usage("user:1")
    assert (quota.window, quota.limit, quota.used, quota.remaining, quota.soft) == ("2/month", 2, 5, 0, True)
    assert quota.retry_after is None


def test_code_that_could_await_it_must() -> None:
    async def page() -> Any:
        return ratewindow.usage("user:1")

    with pytest.raises(SynchronousOnlyOperation, match=r"in async code write await ausage\(\.\.\.\)"):
        asyncio.run(page())


def test_rates_in_code_are_listed_until_a_rule_takes_over() -> None:
    limit("export", "3/h", key="user")
    ratelimit("search", "7/m", key="user")(ok)
    ratelimit("by-function", lambda request: "7/m", key="user")(ok)
    assert shown("user:1") == [("export", "3/h", 3, 0, 3), ("search", "7/m", 7, 0, 7)]
    define("search", "8/m")
    define("export", "8/m", mode="off")
    assert shown("user:1") == [("search", "8/m", 8, 0, 8)]


def test_an_identity_has_the_rules_with_its_key() -> None:
    for key in ("ip", "user", "user_or_ip", "ip+user", "header:x-api-key", "post:username+ip", "global"):
        define(key.replace(":", ".").replace("+", "-"), "5/m", key=key)
    assert [each[0] for each in shown("user:1")] == ["user", "user_or_ip"]
    assert [each[0] for each in shown("ip:203.0.113.9")] == ["ip", "user_or_ip"]
    assert [each[0] for each in shown(("user:1", "ip:203.0.113.9"))] == ["ip-user"]
    assert [each[0] for each in shown("header:x-api-key:k")] == ["header.x-api-key"]
    assert [each[0] for each in shown("global")] == ["global"]
    with pytest.raises(ValueError, match="'nobody' is not an identity"):
        ratewindow.usage("nobody")


@override_settings(RATEWINDOW={"REDIS": "redis://127.0.0.1:1/0"})
def test_while_redis_is_unavailable_only_the_limits_are_known() -> None:
    define("api", "2/m")
    assert ratewindow.usage("user:1") == [Usage("api", "2/m", 2)]


@override_settings(RATEWINDOW={"REDIS": "memory://", "ENABLED": False})
def test_nothing_holds_while_limits_are_switched_off() -> None:
    define("api", "2/m")
    assert ratewindow.usage("user:1") == []


class TestTenants:
    """Of two tenants neither sees the other."""

    @pytest.fixture(autouse=True)
    def _tenants(self) -> Any:
        scoped = {"REDIS": "memory://", "SCOPE": lambda request: request.headers.get("x-tenant")}
        with override_settings(RATEWINDOW=scoped):
            define("api", "5/m", key="user_or_ip")
            define("whole", "50/m", key="scope", on_missing="allow")
            yield

    def of(self, tenant: str, user: int = 1) -> Any:
        request = request_of(user)
        request.META["HTTP_X_TENANT"] = tenant
        return request

    def test_a_user_of_both_has_each_ones_counts(self) -> None:
        for _ in range(3):
            ratewindow.hit("api", self.of("acme"))
        ratewindow.hit("whole", self.of("acme"))
        assert shown(self.of("acme")) == [("api", "5/m", 5, 3, 2), ("whole", "50/m", 50, 1, 49)]
        assert shown(self.of("other")) == [("api", "5/m", 5, 0, 5), ("whole", "50/m", 50, 0, 50)]
        assert shown(("scope:acme", "user:1"))[0] == ("api", "5/m", 5, 3, 2)

    def test_a_page_shows_the_one_of_its_request(self) -> None:
        ratewindow.hit("api", self.of("acme", 1))
        page = Template("{% load ratewindow %}{% my_limits as limits %}{% for each in limits %}{{ each.used }},{% endfor %}")
        for tenant, user, said in [("acme", 1, "1,0,"), ("acme", 2, "0,0,"), ("other", 1, "0,0,")]:
            request = self.of(tenant, user)
            assert page.render(RequestContext(request)) == said


RATES = ["1/m", "3/m; 5/h", "2/10s; 9/d", "4/h"]
ALGORITHMS = ["sliding_window", "sliding_log", "sliding_estimate", "fixed_window", "token_bucket", "leaky_bucket"]


def test_usage_is_what_the_next_answers_headers_say() -> None:
    """In a thousand random states: after a request exactly what its headers said, and before it what they will say."""
    chance, compared = random.Random(22), 0
    for _ in range(100):
        algorithm, penalty = chance.choice(ALGORITHMS), chance.choice([{}, {}, {"penalty": "1m"}])
        rule = Rule("api", chance.choice(RATES), prefix="/", key="user", algorithm=algorithm, **penalty)
        with override_rules(rule), time_machine.travel(START_MS / 1000, tick=False) as clock:
            site = RateWindowMiddleware(ok)
            for _ in range(10):
                clock.shift(chance.choice([0, 0, 1, 7, 30]))
                user = chance.choice([1, 2])
                for _ in range(chance.randrange(3)):
                    ratewindow.hit("api", f"user:{user}")
                before = ratewindow.usage(f"user:{user}")
                answer = site(request_of(user))
                after = ratewindow.usage(request_of(user))
                assert headers(answer) == [each.remaining for each in after]
                is_refused = answer.status_code == 429
                assert is_refused == any(each.retry_after is not None for each in before)
                if not (is_refused and penalty):  # which locks only now
                    assert headers(answer) == [(each.remaining or 0) - (not is_refused) for each in before]
                if is_refused:
                    wait_s = max(each.retry_after for each in after if each.retry_after is not None)
                    assert int(answer["Retry-After"]) == math.ceil(wait_s)
                compared += 1
    assert compared == 1000


def headers(answer: HttpResponse) -> list[int]:
    return [int(each) for each in re.findall(r";r=(\d+)", answer["RateLimit"])]


def test_a_window_by_the_calendar_ends_with_the_month() -> None:
    define("quota", "5/30d", algorithm="fixed_window", aligned_to="month")
    ratewindow.hit("quota", "user:1")
    (quota,) = ratewindow.usage("user:1")
    assert quota.window == "5/month" and quota.reset_after is not None and 0 < quota.reset_after <= 31 * 86_400
    assert Window(5, 2_592_000_000, "fixed_window", aligned_to="month").text == quota.window


def test_the_view_of_the_docs_shows_the_one_who_asks() -> None:
    """Whom REST framework has authenticated, whom Django's own request does not know."""
    text = (Path(__file__).parents[2] / "docs/howto/show_limits.md").read_text(encoding="utf-8")
    place: dict[str, Any] = {}
    exec(dedent(text.split("with REST framework:")[1].split("```python")[1].split("```")[0]), place)
    view = place["MyLimits"].as_view(authentication_classes=[])
    define("api", "5/m")
    ratewindow.hit("api", "user:1")
    for user, used in [(User(pk=1), 1), (User(pk=2), 0)]:
        request = APIRequestFactory().get("/")
        force_authenticate(request, user)
        answer = view(request)
        assert (answer.status_code, [each["used"] for each in answer.data]) == (200, [used])
    assert view(APIRequestFactory().get("/")).status_code == 403
