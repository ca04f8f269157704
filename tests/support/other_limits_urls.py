"""A URLconf whose views are limited by django-ratelimit, django-smart-ratelimit and Django REST framework."""

from django.http import HttpRequest, HttpResponse
from django.urls import include, path
from django.utils.decorators import method_decorator
from django.views import View
from django_ratelimit import UNSAFE
from django_ratelimit.core import get_usage
from django_ratelimit.core import is_ratelimited as is_limited
from django_ratelimit.decorators import ratelimit
from django_smart_ratelimit.decorator import rate_limit
from rest_framework.response import Response
from rest_framework.throttling import AnonRateThrottle, ScopedRateThrottle, UserRateThrottle
from rest_framework.views import APIView


def plain(request: HttpRequest, **captured: object) -> HttpResponse:
    return HttpResponse("ok")


@ratelimit(key="ip", rate="5/m", method=UNSAFE)
@ratelimit(group="slow", key="post:username", rate="100/2h")
def login(request: HttpRequest) -> HttpResponse:
    return plain(request)


class Prices(View):
    @method_decorator(ratelimit(key="header:X-Api-Key", rate="10/", block=False))
    def get(self, request: HttpRequest) -> HttpResponse:
        return plain(request)


@method_decorator(ratelimit(group="class", key="user_or_ip", rate=(7, 30)), name="dispatch")
class Whole(View):
    def get(self, request: HttpRequest) -> HttpResponse:
        return plain(request)


@ratelimit(key=lambda group, request: "x", rate="5/m")
def by_function(request: HttpRequest) -> HttpResponse:
    return plain(request)


@ratelimit(key="ip", rate=lambda group, request: "5/m")
def any_rate(request: HttpRequest) -> HttpResponse:
    return plain(request)


@ratelimit(key="ip", rate="5/m,20/h")
def several(request: HttpRequest) -> HttpResponse:
    return plain(request)


@ratelimit(key="ip", rate="20/m/ip")
def with_key(request: HttpRequest) -> HttpResponse:
    return plain(request)


@ratelimit(key="user", rate="20/m/ip")
def with_other_key(request: HttpRequest) -> HttpResponse:
    return plain(request)


def posts(request: HttpRequest, group: str) -> bool:
    return is_limited(request, group, key="user_or_ip", rate="15/d", method="POST", increment=True)


def posts_left(request: HttpRequest) -> int:
    from django_ratelimit import core

    if core.is_ratelimited(request, group="posts", key=by_function, rate=any_rate):
        return 0
    usage = get_usage(request, group="posts", key="ip", rate="15/d")
    return usage["limit"] - usage["count"] if usage else 0


@rate_limit(key="user", rate="10/m", algorithm="token_bucket", algorithm_config={"bucket_size": 20}, cost=2)
def smart(request: HttpRequest) -> HttpResponse:
    return plain(request)


@rate_limit(key="ip", rate="10/m", skip_if=lambda request: False)
def skipped(request: HttpRequest) -> HttpResponse:
    return plain(request)


class Burst(UserRateThrottle):
    scope = "burst"
    THROTTLE_RATES = {"burst": "60/minute"}


class Upload(ScopedRateThrottle):
    THROTTLE_RATES = {"uploads": "20/day"}


class Own(UserRateThrottle):
    rate = "1/s"

    def get_cache_key(self, request: object, view: object) -> str:
        return "x"


class Anonymous(AnonRateThrottle):
    rate = "5/h"


class Orders(APIView):
    throttle_classes = [Burst, Anonymous, Own]

    def get(self, request: object) -> Response:
        return Response()


class Files(APIView):
    throttle_classes = [Burst, Upload]
    throttle_scope = "uploads"

    def post(self, request: object) -> Response:
        return Response()


urlpatterns = [
    path("login/", login, name="login"),
    path("prices/", Prices.as_view(), name="prices"),
    path("whole/", Whole.as_view()),
    path("other/", ratelimit(group="slow", key="post:username", rate="100/2h")(plain), name="other"),
    path("function/", by_function, name="function"),
    path("any/", any_rate, name="any"),
    path("several/", several, name="several"),
    path("with-key/", with_key, name="with-key"),
    path("with-other-key/", with_other_key, name="with-other-key"),
    path("items/<int:pk>/", ratelimit(group="items", key="ip", rate="5/m")(plain)),
    path("smart/", smart, name="smart"),
    path("skipped/", skipped, name="skipped"),
    path("api/", include([path("orders/", Orders.as_view(), name="orders"), path("files/", Files.as_view(), name="files")])),
]
