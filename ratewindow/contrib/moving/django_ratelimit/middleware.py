"""The middleware that answers a refusal by the view of the setting ``RATELIMIT_VIEW``."""

from collections.abc import Callable
from typing import Any

from asgiref.sync import async_to_sync, iscoroutinefunction, markcoroutinefunction
from django.conf import settings
from django.http import HttpRequest, HttpResponseBase
from django.utils.module_loading import import_string

from ratewindow.contrib.moving.django_ratelimit.exceptions import Ratelimited


class RatelimitMiddleware:
    sync_capable = True
    async_capable = True

    def __init__(self, get_response: Callable[[HttpRequest], Any]) -> None:
        self.get_response = get_response
        if iscoroutinefunction(get_response):
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> Any:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponseBase | None:
        """Of a refusal; Django calls it in a thread where views are awaited."""
        if not isinstance(exception, Ratelimited):
            return None
        view: Any = import_string(settings.RATELIMIT_VIEW)
        response: HttpResponseBase = (async_to_sync(view) if iscoroutinefunction(view) else view)(request, exception)
        return response
