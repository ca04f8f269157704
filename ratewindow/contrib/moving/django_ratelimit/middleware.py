"""The middleware that answers a refusal by the view of the setting ``RATELIMIT_VIEW``."""

from typing import Any

from asgiref.sync import async_to_sync, iscoroutinefunction
from django.utils.deprecation import MiddlewareMixin

from ratewindow.contrib.moving.django_ratelimit.core import found, setting
from ratewindow.contrib.moving.django_ratelimit.exceptions import Ratelimited


class RatelimitMiddleware(MiddlewareMixin):
    def process_exception(self, request: Any, exception: Exception) -> Any:
        """Called in a thread where views are awaited. Without the setting Django answers, as it does any PermissionDenied."""
        view = found(setting("VIEW"))
        is_ours = view is not None and isinstance(exception, Ratelimited)
        return (async_to_sync(view) if iscoroutinefunction(view) else view)(request, exception) if is_ours else None
