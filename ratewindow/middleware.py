"""The middleware: the door for every rule that applies by path."""

from collections.abc import Callable, Iterable
from typing import Any

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.http import HttpRequest, HttpResponse, HttpResponseBase

from ratewindow import guard, met
from ratewindow.answers import responses
from ratewindow.exceptions import RateLimited
from ratewindow.question import Cost
from ratewindow.rule import Rule
from ratewindow.rulebook import Rulebook


class RateWindowMiddleware:
    """Refuses what a rule refuses, and tells the other clients how much is left for them.

    Place it after ``AuthenticationMiddleware``, so that rules can count by user. Under ASGI it is awaited.
    """

    sync_capable = True
    async_capable = True

    cost: Cost = 1
    block = True
    at_view = False

    def __init__(self, get_response: Callable[[HttpRequest], Any]) -> None:
        self._guarded = guard.guarded(get_response, self)
        if iscoroutinefunction(get_response):
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> Any:
        return self._guarded(request)

    def rules(self, book: Rulebook, request: HttpRequest) -> Iterable[Rule]:
        return book.match(request)

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponseBase | HttpResponse | None:
        if not isinstance(exception, RateLimited):
            return None
        if refunds := met.tell_refused(request):
            met.give_back(request, refunds)
        if not met.knows(request, exception.decision):  # else it has been announced
            responses.announce(request, exception.decision)
        return responses.refusal(request, exception.decision, met.barring(request))
