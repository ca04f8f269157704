"""A site's own code, with every public name in typical use: mypy reads it in strict mode, as its author's would.

Nothing here runs. `assert_type` fails where a type is another than the author may rely on.
"""

import asyncio
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, assert_type

import prometheus_client
import redis
import redis.asyncio
from django.core.asgi import get_asgi_application
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import path
from django.utils.decorators import method_decorator
from django.views import View
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

import ratewindow
from ratewindow import (
    Decision,
    RateLimited,
    RequestDecision,
    aacquire,
    acquire,
    ahit,
    apeek,
    arefund,
    areset,
    ausage,
    condition,
    hit,
    limit,
    limits,
    peek,
    ratekey,
    ratelimit,
    refund,
    reset,
    usage,
)
from ratewindow.asgi import lifespan
from ratewindow.contrib.logins import LoginGate, forgive, step, suspicious_login
from ratewindow.contrib.metrics import open_telemetry
from ratewindow.contrib.metrics.prometheus import Collector
from ratewindow.contrib.metrics.views import metrics, text
from ratewindow.contrib.moving.django_ratelimit import UNSAFE as THEIR_UNSAFE
from ratewindow.contrib.moving.django_ratelimit.core import get_usage, is_ratelimited
from ratewindow.contrib.moving.django_ratelimit.decorators import ratelimit as their_ratelimit
from ratewindow.contrib.moving.django_ratelimit.exceptions import Ratelimited
from ratewindow.contrib.moving.django_ratelimit.middleware import RatelimitMiddleware
from ratewindow.decorators import ALL, UNSAFE
from ratewindow.health.overview import status
from ratewindow.limiter import (
    AsyncClusterStore,
    AsyncRedisStore,
    ClusterStore,
    Limiter,
    MemoryStore,
    RedisStore,
    SlidingCounter,
    Window,
    ais_action_allowed,
    is_action_allowed,
)
from ratewindow.models import Override, RateRule, RuleWindow, ThrottleStat
from ratewindow.rest_framework import (
    AnonRateThrottle,
    RuleThrottle,
    ScopedRateThrottle,
    SimpleRateThrottle,
    UserRateThrottle,
)
from ratewindow.schedule import BEAT_SCHEDULE
from ratewindow.signals import degraded, quota_reached, recovered, rules_changed, throttled
from ratewindow.testing import override_rules


@limits("by plan", cache="1m")
def by_plan(identity: str) -> str | tuple[int, int] | None:
    return (5, 60) if identity == "user:2" else {"user:1": "100/m; 1000/d"}.get(identity)


@limits("by tenant")
async def by_tenant(request: HttpRequest) -> list[Window]:
    return [Window(10, 60_000)]


@condition("approved author")
def approved(request: HttpRequest) -> bool:
    return request.user.is_authenticated


async def left_of(request: HttpRequest) -> list[int | None]:
    return [each.remaining for each in (*usage("user:42"), *await ausage(request))]


class LimitedRequest(HttpRequest):
    """What a limited view is given."""

    ratewindow: RequestDecision


# A decorated view keeps its type.


@ratelimit("login")
def named(request: HttpRequest, number: int) -> JsonResponse:
    return JsonResponse({"number": number})


assert_type(named(HttpRequest(), 5), JsonResponse)
named(HttpRequest(), "five")  # type: ignore[arg-type]


@ratelimit("login", "5/m; 20/h", key="ip+post:username")
async def awaited(request: HttpRequest) -> JsonResponse:
    return JsonResponse({})


async def ask_the_awaited() -> None:
    assert_type(await awaited(HttpRequest()), JsonResponse)


def price(request: HttpRequest) -> int:
    return 5


def rate_of(request: HttpRequest) -> str | None:
    return None if request.user.is_staff else "10/h"


def tenant_of(request: HttpRequest) -> str | None:
    return request.headers.get("X-Tenant")


@ratelimit(rate="10/h", key="user", cost=lambda request: 5, block=False)
@ratelimit(rate=rate_of, key=tenant_of, cost=price, normalise=True, methods=["POST", "PUT"])
@ratelimit(group="shop", rate="1/s", key="ip", method=UNSAFE)
@ratelimit(group="all", rate="1/s", key="ip", method=ALL)
def decides(request: LimitedRequest) -> HttpResponse:
    if not request.ratewindow.allowed:
        return HttpResponse("later", status=429)
    assert_type(request.ratewindow.decisions, tuple[Decision, ...])
    assert_type(request.ratewindow.charge(4), None)
    assert_type(request.ratewindow.refund(1), None)
    return HttpResponse(f"{request.ratewindow.remaining} left")


async def decides_later(request: LimitedRequest) -> HttpResponse:
    await request.ratewindow.acharge(4)
    await request.ratewindow.arefund(1)
    return HttpResponse()


ratelimit("login", "5/m", kee="ip")  # type: ignore[call-arg]
ratelimit("login", "5/m", status="503")  # type: ignore[arg-type]
ratelimit("login", "5/m", response_status=503)  # type: ignore[call-arg]
hit("sms", "user:42", rate="5/m", count_when="401")  # type: ignore[call-arg]
ratelimit("login", 5)  # type: ignore[arg-type]
ratelimit("login", cost="5")  # type: ignore[arg-type]
ratelimit("login", "5/m", "ip")  # type: ignore[call-arg]


async def acost(request: HttpRequest) -> int:
    return 5


async def arate(request: HttpRequest) -> str | None:
    return "5/m"


async def atenant(request: HttpRequest) -> str | None:
    return None


@ratelimit("bursts", "5/m", algorithm="token_bucket", burst=20, mode="shadow", penalty=timedelta(minutes=5), on_error="local")
@ratelimit(
    "waits",
    arate,
    key=atenant,
    cost=acost,
    count_when="401,5xx",
    hold=True,
    forgive=True,
    status=503,
    penalty="1m; 5m; 1h within 1d",
    message="Later.",
)
async def waits(request: HttpRequest) -> HttpResponse:
    assert_type(hit("sms", "user:42", rate="5/m", algorithm="token_bucket", burst=9), Decision)
    return HttpResponse("waits")


class Bursts(UserRateThrottle):
    rate = "9/h"


@ratelimit("whole", "5/m")
class Whole(View):
    def get(self, request: HttpRequest) -> HttpResponse:
        return HttpResponse("whole")


assert_type(Whole, type[Whole])


class OneMethod(View):
    @method_decorator(ratelimit("posts", "5/m"))
    def post(self, request: HttpRequest) -> HttpResponse:
        return HttpResponse("posted")


urlpatterns = [
    path("named/<int:number>/", named),
    path("awaited/", awaited),
    path("decides/", decides),
    path("whole/", Whole.as_view()),
    path("one/", OneMethod.as_view()),
]


@ratekey("tenant")
def tenant(request: HttpRequest) -> str | None:
    return tenant_of(request)


assert_type(tenant(HttpRequest()), str | None)

# By name, from any code.


def by_name(request: HttpRequest) -> Decision:
    assert_type(hit("mail", request), Decision)
    assert_type(hit("mail", "user:42", cost=3, force=True, raise_exception=True), Decision)
    assert_type(hit("mail", ("ip:203.0.113.9", "post:username:ann")), Decision)
    assert_type(peek("mail", "user:42"), Decision)
    assert_type(refund("mail", "user:42", 2), None)
    assert_type(reset("mail", request), None)
    assert_type(acquire("mail", "user:42", timeout="5s"), Decision)
    assert_type(acquire("mail", "user:42", timeout=timedelta(seconds=5)), Decision)
    hit("mail", 42)  # type: ignore[arg-type]
    acquire("mail", "user:42")  # type: ignore[call-arg]
    return ratewindow.hit("mail", request)


async def by_name_awaited(request: HttpRequest) -> None:
    assert_type(await ahit("mail", request, raise_exception=True), Decision)
    assert_type(await apeek("mail", "user:42"), Decision)
    assert_type(await arefund("mail", "user:42"), None)
    assert_type(await areset("mail", "user:42"), None)
    assert_type(await aacquire("mail", "user:42", timeout="5s"), Decision)


# A limit that is declared once.

EXPORT = limit("export", "20/h", key="user_or_ip", algorithm="token_bucket", burst=40, count_when="5xx")
UPLOAD = limit("upload", rate_of, key=tenant_of, methods=["POST"], normalise=True)
limit("mail", None)  # type: ignore[arg-type]
limit("mail", "5/m", "ip")  # type: ignore[call-arg]
limit("mail", "5/m", response_status=503)  # type: ignore[call-arg]


@EXPORT
def exports(request: HttpRequest, number: int) -> JsonResponse:
    assert_type(EXPORT.hit(request, cost=2, raise_exception=True), Decision)
    assert_type(EXPORT.hit("user:42", rate="100/h"), Decision)
    assert_type(EXPORT.peek(("ip:203.0.113.9", "user:42"), rate=rate_of), Decision)
    assert_type(EXPORT.reset(request), None)
    hit("forum-post", request, rate="15/d", key="user_or_ip")
    hit("forum-post", request, rate=rate_of, key=tenant_of)
    hit("forum-post", request, rate=15)  # type: ignore[arg-type]
    EXPORT.hit(42)  # type: ignore[arg-type]
    return JsonResponse({})


assert_type(exports(HttpRequest(), 5), JsonResponse)


@method_decorator(EXPORT, name="dispatch")
class Exports(View):
    async def post(self, request: HttpRequest) -> HttpResponse:
        assert_type(await EXPORT.ahit(request, rate=arate), Decision)
        return HttpResponse()


def decision(told: Decision) -> None:
    assert_type(bool(told), bool)
    assert_type(told.allowed, bool)
    assert_type(told.limit, int | None)
    assert_type(told.remaining, int | None)
    assert_type(told.retry_after, float | None)
    assert_type(told.reset_after, float | None)
    assert_type(told.rule, str)
    assert_type(told.window, str)
    assert_type(told.reason, str)
    assert_type(told.mode, str)
    assert_type(told.forced, bool)
    assert_type(told.id, str)
    assert_type(told.decisions, tuple[Decision, ...])


def raised(request: HttpRequest) -> None:
    try:
        hit("mail", request, raise_exception=True)
    except RateLimited as refused:
        assert_type(refused.decision, Decision)


# Rows.


def define() -> None:
    rule, created = RateRule.objects.define("login", "5/m; 20/h", path="/login/", key="ip", mode="enforce")
    assert_type(rule, RateRule)
    assert_type(created, bool)
    assert_type(rule.name, str)
    assert_type([window.limit for window in rule.windows.all()], list[int])
    assert_type(rule.windows.first(), RuleWindow | None)
    assert_type(Override.objects.block("ip:203.0.113.0/24", duration="1h", reason="scraping"), Override)
    assert_type(Override.objects.allow("group:staff"), Override)
    assert_type(Override.objects.rate("user:42", "1000/h", rule="api", duration=timedelta(days=1)), Override)
    assert_type(sum(each.refused for each in ThrottleStat.objects.filter(rule="login")), int)


# Without Django.


def alone() -> None:
    client = redis.Redis()
    windows = [Window(10, period_ms=1000), Window(1000, period_ms=86_400_000, algorithm="sliding_log")]
    limiter = Limiter(RedisStore(client), clock_ms=lambda: 0)
    assert_type(limiter.hit("user:42", windows, cost=1), Decision)
    assert_type(Limiter(MemoryStore()).peek("user:42", windows), Decision)
    limiter.refund("user:42", windows, decision=limiter.hit("user:42", windows))
    limiter.reset("user:42", windows)
    counter = SlidingCounter(5, "seconds", name="calls", store=RedisStore(client))
    assert_type(counter.add(2), int)
    assert_type(counter.get(), int)
    SlidingCounter("1d2h", store=client)
    assert_type(is_action_allowed(42, "reply", 60, 3), bool)
    assert_type(is_action_allowed("ann", "reply", 0.5, 3, store=RedisStore(client)), bool)
    Window("10", period_ms=1000)  # type: ignore[arg-type]


def shared(cluster: redis.RedisCluster, acluster: redis.asyncio.RedisCluster) -> list[Limiter]:
    return [Limiter(ClusterStore(cluster)), Limiter(AsyncClusterStore(acluster))]


async def alone_awaited() -> None:
    store = AsyncRedisStore(redis.asyncio.Redis())
    assert_type(await Limiter(store).ahit("user:42", [Window(10, period_ms=1000)]), Decision)
    assert_type(await SlidingCounter(5, "seconds", store=store).aadd(), int)
    assert_type(await ais_action_allowed(42, "reply", 60, 3, store=store), bool)


# Signals, health, servers, schedules.


def on_throttled(sender: type[RateRule], request: HttpRequest, decision: Decision, **more: Any) -> None: ...


for signal in (throttled, quota_reached, rules_changed, degraded, recovered):
    signal.connect(on_throttled)

assert_type(status(), dict[str, Any])
assert_type(text(), str)
metrics_url = path("metrics/", metrics)
prometheus_client.REGISTRY.register(Collector())
open_telemetry.instrument()
open_telemetry.uninstrument()
application = lifespan(get_asgi_application())
CELERY_BEAT_SCHEDULE: dict[str, dict[str, Any]] = BEAT_SCHEDULE


# Tests of the site.


@override_rules({"api.minute": "5/m"}, login="5/m")
def test_something(number: int) -> str:
    return str(number)


assert_type(test_something(5), str)


@override_rules()
async def test_awaited() -> str:
    return ""


assert_type(asyncio.run(test_awaited()), str)

with override_rules(login="2/m") as rules:
    assert_type(rules, override_rules)
    assert_type(rules.travel("61s"), None)
    rules.travel(timedelta(seconds=61))


# Logins.


class Gate(LoginGate):
    def find_accounts(self, name: str) -> Sequence[Any]:
        return super().find_accounts(name.removeprefix("+"))


@step("codes")
def pin(request: HttpRequest) -> HttpResponse:
    assert_type(forgive(request), None)
    return HttpResponse()


def tell_owner(user: Any, request: HttpRequest, failures: int, **more: Any) -> None: ...


suspicious_login.connect(tell_owner)


# Django REST framework.


class Burst(UserRateThrottle):
    rate, scope = "2/h", "burst"


class Export(RuleThrottle):
    throttle_rules = ["export"]


class PerTenant(SimpleRateThrottle):
    scope = "tenant"

    def get_cache_key(self, request: Request, view: Any) -> str | None:
        return tenant_of(request)


class Orders(APIView):
    throttle_classes = [Burst, Export, PerTenant, AnonRateThrottle, ScopedRateThrottle]
    throttle_scope = "orders"

    @method_decorator(ratelimit("orders", "5/m"))
    def get(self, request: Request) -> Response:
        assert_type(hit("mail", request), Decision)
        return Response("ok")


as_function: Callable[[LimitedRequest], HttpResponse] = decides


# Code that was written for django-ratelimit


@their_ratelimit(group="login", key="ip", rate="5/m", method=[*THEIR_UNSAFE, "GET"])
def their_login(request: HttpRequest) -> HttpResponse:
    if is_ratelimited(request, fn=their_login, key="post:username", rate="20/h", increment=True):
        raise Ratelimited
    usage = get_usage(request, group="export", key="user_or_ip", rate=(100, 3600))
    return HttpResponse("" if usage is None else usage["count"])


their_middleware: Callable[[HttpRequest], Any] = RatelimitMiddleware(lambda request: HttpResponse())
