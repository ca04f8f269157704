"""A little API, limited in the ways that Django REST framework offers."""

from typing import Any

from rest_framework.decorators import action, api_view, throttle_classes
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView, exception_handler
from rest_framework.viewsets import ViewSet

from ratewindow.rest_framework import AnonRateThrottle, ScopedRateThrottle, SimpleRateThrottle, UserRateThrottle


class OncePerHour(UserRateThrottle):
    rate = "1/hour"
    scope = "once"


class BurstThrottle(UserRateThrottle):
    scope = "burst"


class SustainedThrottle(UserRateThrottle):
    scope = "sustained"


class ByShop(SimpleRateThrottle):
    scope = "shop"

    def get_cache_key(self, request: Request, view: Any) -> str | None:
        shop = request.query_params.get("shop")
        return self.cache_format % {"scope": self.scope, "ident": shop} if shop else None


class ExemptsStaff(AnonRateThrottle):
    rate = "1/hour"
    scope = "strangers"

    def get_ident(self, request: Request) -> str:
        return request.headers.get("x-device") or super().get_ident(request)

    def allow_request(self, request: Request, view: Any) -> bool:
        return request.headers.get("x-staff") == "yes" or super().allow_request(request, view)


def told(error: Exception, context: dict[str, Any]) -> Response | None:
    response = exception_handler(error, context)
    if response is not None:
        response.data = {"error": type(error).__name__, "wait": getattr(error, "wait", None) is not None}
    return response


class Home(APIView):
    """Under the default classes."""

    def get(self, request: Request) -> Response:
        return Response("home")


class Upload(APIView):
    throttle_classes = [ScopedRateThrottle]
    throttle_scope = "uploads"

    def get(self, request: Request) -> Response:
        return Response("uploaded")


class Burst(APIView):
    throttle_classes = [BurstThrottle, SustainedThrottle]

    def get(self, request: Request) -> Response:
        return Response("quick")


class Shop(ViewSet):
    throttle_classes = [ByShop]

    def list(self, request: Request) -> Response:
        return Response("shops")

    @action(detail=False, throttle_classes=[ExemptsStaff])
    def prices(self, request: Request) -> Response:
        return Response("prices")


@api_view(["GET"])
@throttle_classes([OncePerHour])
def daily(request: Request) -> Response:
    return Response("today")
