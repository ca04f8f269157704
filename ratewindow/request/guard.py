"""A handler behind the gate: the middleware's next one, or a view; the same steps for sync and async.

The outermost guard of a request, the middleware where there is one, counts its decisions and writes the
headers, once, when the response is there. Guards inside it only decide, and refuse.
"""

import functools
from collections.abc import Callable, Iterable
from typing import Any, Protocol

from asgiref.sync import sync_to_async
from django.http import HttpRequest, HttpResponseBase

from ratewindow import conf
from ratewindow.identity import original
from ratewindow.limiter.types import Decision, Refunds
from ratewindow.overrides import Overrides
from ratewindow.reporting import counters
from ratewindow.request import admin_pages, count_by_answer, decide, handlers, headers, without_redis
from ratewindow.request import refusal as responses
from ratewindow.request import visit as met
from ratewindow.request.prepare import NOTHING, Cost, Question, ask
from ratewindow.rulebook import current
from ratewindow.rulebook.current import Rulebook
from ratewindow.rules.rule import Rule

Handler = Callable[..., Any]


class Door(Protocol):
    """What a guard asks of the place it stands at."""

    cost: Cost
    block: bool
    at_view: bool  # sets ``request.limited``, as django-ratelimit does, and may be given the request of DRF

    def rules(self, book: Rulebook, request: HttpRequest) -> Iterable[Rule]:
        """The rules that hold for this request here."""


class Visit:
    """One request passing one guard."""

    __slots__ = (
        "counts_later",
        "door",
        "outermost",
        "overrides",
        "refunds",
        "refused",
        "request",
        "rules",
        "seen",
        "told",
        "vain",
    )

    def __init__(self, request: HttpRequest, door: Door) -> None:
        self.seen = request  # with the user that it was authenticated as here
        self.request = original(request) if door.at_view else request
        self.door = door
        self.outermost = met.begin(self.request)
        self.rules: list[Rule] = []
        self.overrides: Overrides | None = None
        self.refused = self.counts_later = False
        self.vain = ""  # why the request has waited for Redis in vain, at a guard outside
        self.refunds: Refunds = []  # what guards outside have charged a request that is refused here
        if door.at_view:
            self.request.limited = getattr(self.request, "limited", False)  # type: ignore[attr-defined]

    def meet(self, book: Rulebook) -> bool:
        """Find the rules to ask about; one that a guard outside has met is not met again. Whether anything is to be asked."""
        if not conf.current().enabled:
            return False
        self.rules = list(self.door.rules(book, self.seen))
        self.counts_later, self.overrides = book.counts_later, book.overrides
        if not self.outermost:
            parts = met.decisions_of(self.request)
            self.vain, told = decide.waited(parts), {(part.rule, part.mode) for part in parts}
            self.rules = [rule for rule in self.rules if told.isdisjoint(rule.decision_keys)]
        return bool(self.rules) or self.overrides is not None

    def question(self) -> Question:
        return ask(self.seen, self.rules, self.door.cost, self.overrides)

    def settle(self, decision: Decision) -> None:
        self.told = decision
        if self.door.at_view and not decision.allowed:
            self.request.limited = True  # type: ignore[attr-defined]
        self.refused = self.door.block and not decision.allowed
        if self.refused:
            self.refunds = met.tell_refused(self.request)
        met.join(self.request, decision, self.door.block)
        if self.counts_later and not self.refused:
            count_by_answer.wait(self.request, self.rules, decision)

    @property
    def decision(self) -> Decision:
        """Of all rules that the request has met by now."""
        return self.request.ratewindow  # type: ignore[attr-defined, no-any-return]

    def refusal(self) -> HttpResponseBase:
        """By what this guard was told: what a guard outside was told may have refused, and not been asked to block."""
        return responses.refusal(self.request, self.told, met.barring(self.request))

    async def arefusal(self) -> HttpResponseBase:
        return await responses.arefusal(self.request, self.told, met.barring(self.request))

    @property
    def waits(self) -> bool:
        """Whether rules are waiting for the answer, to know if this request counts."""
        return self.outermost and hasattr(self.request, "_ratewindow_waiting")

    def answer(self, response: HttpResponseBase) -> HttpResponseBase:
        if self.outermost and isinstance(response, HttpResponseBase):  # else Django says what a view must return
            headers.write(response, self.decision)
            if response.status_code == 429 and not self.decision.allowed:  # by REST framework, or by the view
                responses.leave_log_to_ours(response)
        return response

    def leave(self) -> None:
        if self.outermost:
            counters.record(met.end(self.request))


_astay_open = sync_to_async(admin_pages.stay_open)


def guarded(handler: Handler, door: Door) -> Handler:
    """The handler, called only for requests that pass; a coroutine function if it is awaited."""
    if handlers.is_async(handler):

        @functools.wraps(handler)
        async def aguard(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            visit = Visit(request, door)
            try:
                if visit.meet(await current.arulebook()):
                    for rule in visit.rules:
                        if rule.recipe.loaders:
                            await rule.recipe.load(request)
                    if visit.overrides is not None:
                        await visit.overrides.load(request)
                    decision = await decide.adecide(visit.question(), "hit", visit.vain)
                    if not decision.allowed and admin_pages.are_ours(visit.request) and await _astay_open(visit.request):
                        decision = without_redis.unasked(NOTHING)
                    visit.settle(decision)
                    if visit.refunds:
                        await met.agive_back(visit.request, visit.refunds)
                    if not decision.allowed:
                        await responses.aannounce(visit.request, decision)
                response = await (visit.arefusal() if visit.refused else handler(request, *args, **kwargs))
                if visit.counts_later and visit.waits:
                    await count_by_answer.acount(visit.request, getattr(response, "status_code", None))
                return visit.answer(response)
            except BaseException as error:
                if visit.counts_later and visit.waits:
                    await count_by_answer.acount(visit.request, count_by_answer.status_of(error))
                raise
            finally:
                visit.leave()

        return aguard

    @functools.wraps(handler)
    def guard(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        visit = Visit(request, door)
        try:
            if visit.meet(current.rulebook()):
                decision = decide.decide(visit.question(), "hit", visit.vain)
                if not decision.allowed and admin_pages.stay_open(visit.request):
                    decision = without_redis.unasked(NOTHING)
                visit.settle(decision)
                if visit.refunds:
                    met.give_back(visit.request, visit.refunds)
                if not decision.allowed:
                    responses.announce(visit.request, decision)
            response = visit.refusal() if visit.refused else handler(request, *args, **kwargs)
            if visit.counts_later and visit.waits:
                count_by_answer.count(visit.request, getattr(response, "status_code", None))
            return visit.answer(response)
        except BaseException as error:
            if visit.counts_later and visit.waits:
                count_by_answer.count(visit.request, count_by_answer.status_of(error))
            raise
        finally:
            visit.leave()

    return guard
