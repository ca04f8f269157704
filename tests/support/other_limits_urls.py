"""A URLconf whose views are limited by django-ratelimit and Django REST framework."""

from django.http import HttpRequest, HttpResponse
from django.urls import include, path
from django.utils.decorators import method_decorator
from django.views import View
from django_ratelimit import UNSAFE
from django_ratelimit.decorators import ratelimit
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
    path("api/", include([path("orders/", Orders.as_view(), name="orders"), path("files/", Files.as_view(), name="files")])),
]
