"""Rules that count by the answer, views that give it, and what is left."""

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse

import ratewindow
from ratewindow.models import RateRule


def define(name: str, rate: str, count_when: str, mode: str = "enforce", **fields: Any) -> RateRule:
    return RateRule.objects.define(name, rate, count_when=count_when, mode=mode, overwrite=True, **fields)[0]


def left(rule: str = "login", who: str = "ip:127.0.0.1") -> int | None:
    return ratewindow.peek(rule, who).remaining


def used(limit: int, rule: str = "login") -> int:
    return limit - (left(rule) or 0)


def answering(status: int, is_async: bool = False) -> Callable[..., Any]:
    if is_async:

        async def aview(request: HttpRequest) -> HttpResponse:
            return HttpResponse("ok", status=status)

        return aview

    def view(request: HttpRequest) -> HttpResponse:
        return HttpResponse("ok", status=status)

    return view
