"""A handler behind the gate: the middleware's next one, or a view; the same steps for sync and async.

The outermost guard of a request, the middleware where there is one, counts its decisions and writes the
headers, once, when the response is there. Guards inside it only decide, and refuse.
"""

import functools
from collections.abc import Callable, Iterable
from typing import Any, Protocol

from django.http import HttpRequest, HttpResponseBase

from ratewindow import afterwards, conf, gate, handlers, rulebook
from ratewindow.answers import headers, responses
from ratewindow.charging import RequestDecision
from ratewindow.identity import original
from ratewindow.limiter.types import Decision
from ratewindow.overrides import Overrides
from ratewindow.question import Cost, Question, ask
from ratewindow.reporting import counters
from ratewindow.rule import Rule
from ratewindow.rulebook import Rulebook

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

    __slots__ = ("counts_later", "door", "outermost", "overrides", "refused", "request", "rules", "seen")

    def __init__(self, request: HttpRequest, door: Door) -> None:
        self.seen = request  # with the user that it was authenticated as here
        self.request = original(request) if door.at_view else request
        self.door = door
        self.outermost = not hasattr(self.request, "ratewindow")
        self.rules: list[Rule] = []
        self.overrides: Overrides | None = None
        self.refused = self.counts_later = False
        if self.outermost:
            self.request.ratewindow = RequestDecision()  # type: ignore[attr-defined]
        if door.at_view:
            self.request.limited = getattr(self.request, "limited", False)  # type: ignore[attr-defined]

    def meet(self, book: Rulebook) -> bool:
        """Find the rules to ask about; one that a guard outside has met is not met again. Whether anything is to be asked."""
        if not conf.current().enabled:
            return False
        self.rules = list(self.door.rules(book, self.seen))
        self.counts_later, self.overrides = book.counts_later, book.overrides
        if not self.outermost:
            met = {(part.rule, part.mode) for part in decisions_of(self.request)}
            self.rules = [rule for rule in self.rules if met.isdisjoint(rule.told_as)]
        return bool(self.rules) or self.overrides is not None

    def question(self) -> Question:
        return ask(self.seen, self.rules, self.door.cost, self.overrides)

    def settle(self, decision: Decision) -> None:
        if self.door.at_view and not decision.allowed:
            self.request.limited = True  # type: ignore[attr-defined]
        self.refused = self.door.block and not decision.allowed
        if self.refused:
            tell_refused(self.request)
        join(self.request, decision)
        if self.counts_later and not self.refused:
            afterwards.wait(self.request, self.rules, decision)

    @property
    def decision(self) -> Decision:
        """Of all rules that the request has met by now."""
        return self.request.ratewindow  # type: ignore[attr-defined, no-any-return]

    def refusal(self) -> HttpResponseBase:
        return responses.refusal(self.request, self.decision)

    async def arefusal(self) -> HttpResponseBase:
        return await responses.arefusal(self.request, self.decision)

    @property
    def waits(self) -> bool:
        """Whether rules are waiting for the answer, to know if this request counts."""
        return self.outermost and hasattr(self.request, "_ratewindow_waiting")

    def answer(self, response: HttpResponseBase) -> HttpResponseBase:
        if self.outermost and isinstance(response, HttpResponseBase):  # else Django says what a view must return
            headers.write(response, self.decision)
        return response

    def leave(self) -> None:
        if self.outermost:
            counters.record(_once_for_each_rule(decisions_of(self.request)))


def guarded(handler: Handler, door: Door) -> Handler:
    """The handler, called only for requests that pass; a coroutine function if it is awaited."""
    if handlers.is_async(handler):

        @functools.wraps(handler)
        async def aguard(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            visit = Visit(request, door)
            try:
                if visit.meet(await rulebook.acurrent()):
                    for rule in visit.rules:
                        if rule.recipe.loaders:
                            await rule.recipe.load(request)
                    if visit.overrides is not None:
                        await visit.overrides.load(request)
                    decision = await gate.adecide(visit.question())
                    visit.settle(decision)
                    if not decision.allowed:
                        await responses.aannounce(visit.request, visit.decision)
                response = await (visit.arefusal() if visit.refused else handler(request, *args, **kwargs))
                if visit.counts_later and visit.waits:
                    await afterwards.acount(visit.request, getattr(response, "status_code", None))
                return visit.answer(response)
            except BaseException as error:
                if visit.counts_later and visit.waits:
                    await afterwards.acount(visit.request, afterwards.status_of(error))
                raise
            finally:
                visit.leave()

        return aguard

    @functools.wraps(handler)
    def guard(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        visit = Visit(request, door)
        try:
            if visit.meet(rulebook.current()):
                decision = gate.decide(visit.question())
                visit.settle(decision)
                if not decision.allowed:
                    responses.announce(visit.request, visit.decision)
            response = visit.refusal() if visit.refused else handler(request, *args, **kwargs)
            if visit.counts_later and visit.waits:
                afterwards.count(visit.request, getattr(response, "status_code", None))
            return visit.answer(response)
        except BaseException as error:
            if visit.counts_later and visit.waits:
                afterwards.count(visit.request, afterwards.status_of(error))
            raise
        finally:
            visit.leave()

    return guard


def decisions_of(request: HttpRequest) -> tuple[Decision, ...]:
    """What has been decided about this request so far, one decision for each rule."""
    decision: Decision | None = getattr(request, "ratewindow", None)
    return () if decision is None else decision.decisions  # a refused one is false


def knows(request: HttpRequest, decision: Decision) -> bool:
    """Whether this decision is among those about the request."""
    return any(part is each for part in decision.decisions for each in decisions_of(request))


def tell_refused(request: HttpRequest) -> None:
    """What has been decided so far let the request pass, or would have refused it; now another rule refuses it."""
    for part in decisions_of(request):
        if part.outcome in ("passed", "would_refuse"):
            part.outcome = "other"


def join(request: HttpRequest, decision: Decision) -> None:
    """Make `request.ratewindow` the decision of all rules that the request has met by now."""
    before = decisions_of(request)
    whole = Decision.of([*before, *decision.decisions]) if before else decision
    whole.__class__ = RequestDecision
    request.ratewindow = whole  # type: ignore[attr-defined]


def _once_for_each_rule(decisions: tuple[Decision, ...]) -> Iterable[Decision]:
    """A shadow row beside a rate in code shares its name: what happened is the code's, what would have is the row's."""
    if len(decisions) < 2:
        return decisions
    told: dict[str, Decision] = {}
    for decision in sorted(decisions, key=lambda each: _TELLING.index(each.outcome)):
        told.setdefault(decision.rule, decision)
    return told.values()


_TELLING = ("refused", "other", "would_refuse", "passed")
