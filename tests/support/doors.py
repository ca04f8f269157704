"""One request through one door, whether it is written for sync or for async."""

import asyncio
from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory

from ratewindow import ratelimit
from ratewindow.middleware import RateWindowMiddleware


def plain(is_async: bool, seen: list[HttpRequest] | None = None) -> Callable[..., Any]:
    """A new view that answers 200 and notes its requests."""
    if is_async:

        async def aview(request: HttpRequest) -> HttpResponse:
            if seen is not None:
                seen.append(request)
            return HttpResponse("ok")

        return aview

    def view(request: HttpRequest) -> HttpResponse:
        if seen is not None:
            seen.append(request)
        return HttpResponse("ok")

    return view


def decorated(is_async: bool, *arguments: Any, seen: list[HttpRequest] | None = None, **options: Any) -> Callable[..., Any]:
    return ratelimit(*arguments, **options)(plain(is_async, seen))


def behind_middleware(handler: Callable[..., Any]) -> Callable[..., Any]:
    return RateWindowMiddleware(handler)


def get(handler: Callable[..., Any], path: str = "/", method: str = "GET", **extra: Any) -> HttpResponse:
    """What the handler answers; a coroutine is run to its end."""
    return answer(handler, RequestFactory().generic(method, path, **extra))


def answer(handler: Callable[..., Any], request: HttpRequest) -> HttpResponse:
    told = handler(request)
    return asyncio.run(told) if asyncio.iscoroutine(told) else told


def statuses(handler: Callable[..., Any], count: int, path: str = "/", **extra: Any) -> list[int]:
    return [get(handler, path, **extra).status_code for _ in range(count)]
