"""The throttles of a view as doors, found for a request that is not sent: for explanations."""

from collections.abc import Iterator
from typing import Any

from django.http import HttpRequest
from rest_framework.request import Request

from ratewindow.request.doors import Door
from ratewindow.rest_framework.decide_together import Together
from ratewindow.rest_framework.throttles import RuleThrottle, SimpleRateThrottle


def of_view(request: HttpRequest, callback: Any) -> Iterator[Door]:
    """The throttles of ours, as one door, but for those with an `allow_request` of the site's own."""
    shown, options = getattr(callback, "cls", None), getattr(callback, "initkwargs", {})
    if shown is None or not hasattr(shown, "throttle_classes"):
        return
    view = shown(**options)
    view.action_map = getattr(callback, "actions", None)
    view.setup(request)
    wrapped: Any = Request(request)
    view.request = wrapped
    wrapped.user = getattr(request, "user", None)  # the one that is asked about, whatever the view's authentication says
    actions = view.action_map or {}
    view.action = actions.get((request.method or "").lower())
    ours = [each for each in view.get_throttles() if isinstance(each, RuleThrottle | SimpleRateThrottle)]
    throttles = [each for each in ours if not each.has_own("allow_request")]
    if throttles:
        yield _OfRequest(throttles, view, wrapped)


class _OfRequest(Together):
    """Throttles that see the request of REST framework."""

    def __init__(self, throttles: Any, view: Any, request: Request) -> None:
        super().__init__(throttles, view, block=True)
        self._request = request

    def rules(self, book: Any, request: Any) -> Any:
        return super().rules(book, self._request)
