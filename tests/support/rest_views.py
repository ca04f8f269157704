"""Views of REST framework with throttles, and requests to them."""

from collections.abc import Callable
from typing import Any

from django.contrib.auth.models import User
from django.http import HttpRequest
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.test import APIRequestFactory, force_authenticate
from rest_framework.views import APIView

import ratewindow
from ratewindow.rest_framework import UserRateThrottle

View = Callable[..., Response]
ANN, BOB = User(pk=1, username="ann"), User(pk=2, username="bob")


def throttled(*throttles: type, inside: Callable[[Request], Any] = lambda request: "ok", **attributes: Any) -> View:
    """A new view with these throttles, which answers what `inside` returns."""

    class Shop(APIView):
        authentication_classes = []
        throttle_classes = throttles

        def get(self, request: Request) -> Response:
            told = inside(request)
            return told if isinstance(told, Response) else Response(told)

    for name, value in attributes.items():
        setattr(Shop, name, value)
    return Shop.as_view()


def request_of(user: User | None = None, **extra: Any) -> HttpRequest:
    """As authentication by a token leaves it: Django's own request knows of no user before the view."""
    request = APIRequestFactory().get("/", **extra)
    if user is not None:
        force_authenticate(request, user)
    return request


def ask(view: Any, user: User | None = None, **extra: Any) -> Response:
    return view(request_of(user, **extra))


def statuses(view: Any, count: int, user: User | None = None, **extra: Any) -> list[int]:
    return [ask(view, user, **extra).status_code for _ in range(count)]


def rate_of(base: type, rate: str, **attributes: Any) -> type:
    """A subclass as sites write them."""
    return type(f"{base.__name__}Of{rate.replace('/', '')}", (base,), {"rate": rate, "__module__": __name__, **attributes})


BURST = rate_of(UserRateThrottle, "9/m", scope="burst")
DAY = rate_of(UserRateThrottle, "2/d", scope="day")


class ExemptsStaff(UserRateThrottle):
    """As sites write them: whom it exempts, it must not charge."""

    rate, scope = "1/m", "careful"

    def allow_request(self, request: Request, view: Any) -> bool:
        return request.query_params.get("staff") == "1" or super().allow_request(request, view)


def left(name: str, user: str = "user:1") -> int | None:
    return ratewindow.peek(name, user).remaining
