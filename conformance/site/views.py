"""The site's views: each tells that it ran, and when, by this machine's clock."""

import time
from functools import cache
from typing import Any

from django.conf import settings
from django.contrib.auth import authenticate, login
from django.http import HttpRequest, HttpResponse


def view(request: HttpRequest) -> HttpResponse:
    return HttpResponse(f"ran {time.time()}")


async def async_view(request: HttpRequest) -> HttpResponse:
    return HttpResponse(f"ran {time.time()}")


def log_in(request: HttpRequest) -> HttpResponse:
    user = authenticate(request, username=request.POST.get("username"), password=request.POST.get("password"))
    if user is None:
        return HttpResponse("wrong", status=401)
    login(request, user)
    return HttpResponse("welcome")


def rate(request: HttpRequest) -> Any:
    """A view whose rate is what somebody has typed."""
    try:
        limited = _under_rate(request.GET["text"])
    except Exception as error:  # whatever this limiter says to a rate that it cannot read
        return HttpResponse(f"not a rate: {error}", status=422)
    return limited(request)


@cache
def _under_rate(text: str) -> Any:
    def typed(request: HttpRequest) -> HttpResponse:
        return view(request)

    return settings.ADAPTER.rate(typed, text)


def edit(request: HttpRequest) -> HttpResponse:
    settings.ADAPTER.edit(int(request.GET["requests"]))
    return HttpResponse("edited")
