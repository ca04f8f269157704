"""One limited page of each site, at each kind of door."""

from collections.abc import Callable
from typing import Any

from django.contrib.auth.models import AnonymousUser, User
from django.http import HttpRequest, HttpResponse
from django.urls import path
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from ratewindow import ratelimit
from ratewindow.rest_framework import RuleThrottle


def sign_in(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """The middleware of the sites' own authentication."""

    def middleware(request: HttpRequest) -> HttpResponse:
        number = request.headers.get("x-user")
        request.user = AnonymousUser() if number is None else User(pk=int(number))
        return get_response(request)

    return middleware


class Archive(APIView):
    authentication_classes = ()
    throttle_classes = (RuleThrottle,)
    throttle_rules = ("archive",)

    def perform_authentication(self, request: Request) -> None:
        request.user = request._request.user

    def get(self, request: Request) -> Response:
        return Response("ok")


def page(request: HttpRequest) -> HttpResponse:
    return HttpResponse("ok")


chat: Any = ratelimit("chat")(page)

urlpatterns = [
    path("archive/", Archive.as_view()),
    path("messaging/", page),
    path("projects/", page),
    path("chat/", chat),
]
