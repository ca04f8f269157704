"""Outside of everything: which worker answered, whether anybody read the body of the request, and how it was decided."""

import os
from collections.abc import Callable
from typing import Any

from asgiref.sync import iscoroutinefunction
from django.http import HttpRequest, HttpResponseBase
from django.utils.decorators import sync_and_async_middleware

from tests.serving.site import timing


@sync_and_async_middleware
def named(get_response: Callable[..., Any]) -> Callable[..., Any]:
    def told(request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        response["X-Worker"] = str(os.getpid())
        response["X-Body-Read"] = str(request._read_started or hasattr(request, "_body"))  # type: ignore[attr-defined]
        response["X-Gate-Us"] = f"{timing.taken_us.get():.0f}"
        response["X-Queued-Us"] = f"{timing.queued_us.get():.0f}"
        causes = {part.cause for part in request.ratewindow.decisions} if hasattr(request, "ratewindow") else set()
        response["X-Cause"] = ",".join(sorted(causes - {""}))
        return response

    if iscoroutinefunction(get_response):

        async def amiddleware(request: HttpRequest) -> HttpResponseBase:
            timing.begin()
            return told(request, await get_response(request))

        return amiddleware

    def middleware(request: HttpRequest) -> HttpResponseBase:
        timing.begin()
        return told(request, get_response(request))

    return middleware
