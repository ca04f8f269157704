"""The middleware: the door for every rule that applies by path."""

from collections.abc import Callable
from typing import Any

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.http import HttpRequest, HttpResponse, HttpResponseBase

from ratewindow.exceptions import RateLimited
from ratewindow.request import guard, refusal, visit
from ratewindow.request.decide import run
from ratewindow.request.doors import PathDoor


class RateWindowMiddleware(PathDoor):
    """Refuses requests by the rules for their path, and sends the other clients headers that say how much is left.

    Place it after ``AuthenticationMiddleware``, so that rules can count by user. Under ASGI it is awaited.
    """

    sync_capable = True
    async_capable = True

    def __init__(self, get_response: Callable[[HttpRequest], Any]) -> None:
        self._guarded = guard.guarded(get_response, self)
        if iscoroutinefunction(get_response):
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> Any:
        return self._guarded(request)

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponseBase | HttpResponse | None:
        if not isinstance(exception, RateLimited):
            return None
        known, decision = visit.of(request), exception.decision
        if refunds := known.refuse():
            run(known.refund_uncounted(refunds))
        if not any(part is each for part in decision.parts for each in known.decision.parts):  # else it was announced
            refusal.announce(request, decision)
        return refusal.refusal(request, decision)
