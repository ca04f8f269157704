"""Outside of everything: which worker answered, and whether anybody read the body of the request."""

import os
from collections.abc import Callable
from typing import Any

from asgiref.sync import iscoroutinefunction
from django.http import HttpRequest, HttpResponseBase
from django.utils.decorators import sync_and_async_middleware


@sync_and_async_middleware
def named(get_response: Callable[..., Any]) -> Callable[..., Any]:
    def told(request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        response["X-Worker"] = str(os.getpid())
        response["X-Body-Read"] = str(request._read_started or hasattr(request, "_body"))  # type: ignore[attr-defined]
        return response

    if iscoroutinefunction(get_response):

        async def amiddleware(request: HttpRequest) -> HttpResponseBase:
            return told(request, await get_response(request))

        return amiddleware

    def middleware(request: HttpRequest) -> HttpResponseBase:
        return told(request, get_response(request))

    return middleware
