"""The guard around a handler, which is the middleware's next one or a view. It decides in this order:

1. off: where limits are switched off, by ENABLED or the kill switch, the handler is called and nothing is counted;
2. exempt: a client that is exempt from all rules, or from some, does not meet them;
3. blocked: a blocked client is refused, and nothing is charged. An exemption from all rules outweighs every block;
4. rules: one call of the store charges all rules that hold for the request if each has room, and otherwise none. If the
   store does not answer, each rule's `on_error` decides (`without_redis`);
5. answer: the handler's, or the refusal, with headers that show what is left. Rules that count by the answer have only been
   checked in step 4, and are charged now; with `hold` they have been charged, and are refunded if the answer does not count.

The outermost guard of a request, the middleware where there is one, also counts the decisions for the reports. Guards
inside it decide rules that have not been met yet. If one refuses, what guards outside have charged is refunded.
"""

import functools
from collections.abc import Callable, Set
from typing import Any

from django.http import HttpRequest, HttpResponseBase

from ratewindow import conf
from ratewindow.identity import original
from ratewindow.limiter.types import Decision
from ratewindow.reporting import counters
from ratewindow.request import admin_pages, candidates, count_by_answer, decide, handlers, headers, refusal, visit
from ratewindow.request.doors import Door, with_door
from ratewindow.request.overrides import judge
from ratewindow.request.prepare import Question, ask
from ratewindow.request.steps import Steps, arun, run
from ratewindow.rulebook import current
from ratewindow.rulebook.current import Rulebook
from ratewindow.rules import rate_options
from ratewindow.signals import throttled

Handler = Callable[..., Any]


class Passage:
    """One request passing one guard; what all its guards know is in its visit."""

    __slots__ = (
        "counts_by_answer",
        "decision",
        "door",
        "outermost",
        "overrides",
        "refused",
        "request",
        "rules",
        "seen",
        "settings",
        "visit",
        "waited",
    )

    def __init__(self, request: HttpRequest, door: Door) -> None:
        self.seen = request  # with the user that it was authenticated as here
        self.request = original(request) if door.at_view else request
        self.door = door
        known: visit.Visit | None = getattr(self.request, "_ratewindow", None)
        self.outermost = known is None or not known.is_open
        self.visit = visit.begin(self.request) if known is None or self.outermost else known
        self.settings = conf.current()
        self.refused = self.counts_by_answer = False
        self.waited = ""  # why the request has waited for Redis without an answer, at a guard outside
        if door.at_view:
            self.request.limited = getattr(self.request, "limited", False)  # type: ignore[attr-defined]

    def prepare(self, book: Rulebook, again: Set[tuple[str, str]] = frozenset()) -> bool:
        """Find what to decide, and return whether there is anything: not if limits are switched off (`book` is empty under the
        kill switch), or if no rule, block or exemption may hold. A rule that a guard outside has met is not met again, unless
        its name and mode are among those that may be."""
        if not self.settings.enabled:
            return False
        rules = self.door.rules(book, self.seen)
        self.counts_by_answer, self.overrides = book.counts_by_answer, book.overrides
        if not self.outermost:
            met = {(part.rule, part.mode) for part in self.visit.decision.decisions} - again
            self.waited = self.visit.waited
            rules = [rule for rule in rules if met.isdisjoint(rule.decision_keys)]
        self.rules = rules if isinstance(rules, list) else [*rules]
        return bool(self.rules) or self.overrides is not None

    def question(self) -> Question:
        """What to ask the store: nothing for an exempt or blocked client, else the checks of its rules."""
        if self.overrides is not None:
            verdict = judge(self.overrides.of_request(self.seen), self.rules)
            if verdict.settled:
                return Question([], verdict.settled, ())
            return ask(self.seen, verdict.rules, self.door.cost, self.settings)
        return ask(self.seen, self.rules, self.door.cost, self.settings)

    def keep(self, decision: Decision) -> None:
        """Keep a decision by which the request goes on to the handler."""
        self.visit.add(decision, self.door.block)
        if self.counts_by_answer or rate_options.seen.counts_by_answer:
            count_by_answer.defer(self.visit, decision)

    def refuse(self, decision: Decision) -> Steps[None]:
        """Refuse the request, unless it is for our admin pages and from a user who can correct the rule there: exempt, too."""
        may_be_ours = admin_pages.IN_PATHS in self.request.path_info
        if may_be_ours and (yield admin_pages.stays_open, admin_pages.astays_open, self.request):
            return
        yield from self.keep_refusal(decision)
        if throttled.receivers:
            yield refusal.announce, refusal.aannounce, self.request, decision

    def keep_refusal(self, decision: Decision) -> Steps[None]:
        """Keep a refusal, and refund what guards outside have charged, unless the view decides."""
        if self.door.at_view:
            self.request.limited = True  # type: ignore[attr-defined]
        if decision.parts:  # several rules, or one and its candidate
            yield from candidates.judge_refused(decision, self.waited)
        if not self.door.block:
            self.keep(decision)
            return
        self.refused, self.decision = True, decision
        refunds = self.visit.refuse()
        self.visit.add(decision)
        if refunds:
            yield from self.visit.refund(refunds)

    def refusal(self) -> HttpResponseBase:
        """The answer to a refused request, by this guard's decision: one outside may have left it to the view to refuse."""
        return refusal.refusal(self.request, self.decision, () if self.outermost else self.visit.blocking())

    async def arefusal(self) -> HttpResponseBase:
        return await refusal.arefusal(self.request, self.decision, () if self.outermost else self.visit.blocking())

    @property
    def has_deferred(self) -> bool:
        """Whether rules wait for the answer, to know if this request counts. Views may have been imported during it."""
        return self.outermost and self.visit.deferred is not None

    def answer(self, response: HttpResponseBase) -> HttpResponseBase:
        """The response with the headers of all rules that the request has met."""
        if self.outermost and isinstance(response, HttpResponseBase):  # else Django says what a view must return
            decision = self.visit.decision
            headers.write(response, decision, self.settings.headers)
            self.visit.status = response.status_code
            if not decision.allowed and not self.refused and response.status_code == 429:  # by REST framework, or by the view
                refusal.leave_log_to_ours(response)
        return response

    def leave(self) -> None:
        if self.outermost:
            counters.record(self.visit.end(), self.settings.stats, self.request, self.visit.status)


def guarded(handler: Handler, door: Door) -> Handler:
    """The handler, called only for requests that pass; a coroutine function if it is awaited."""
    if handlers.is_async(handler):

        @functools.wraps(handler)
        async def aguard(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            passage = Passage(request, door)
            try:
                book = await current.arulebook()
                if passage.settings.enabled and (awaited := door.awaited) is not None:
                    passage.door = await awaited(book, request)
                if passage.prepare(book):
                    await _load(passage)
                    decision = await decide.adecide(passage.question(), "hit", passage.waited)
                    if decision.allowed:
                        passage.keep(decision)
                    else:
                        await arun(passage.refuse(decision))
                response = await (passage.arefusal() if passage.refused else handler(request, *args, **kwargs))
                if passage.has_deferred:
                    await arun(count_by_answer.count(passage.visit, getattr(response, "status_code", None)))
                return passage.answer(response)
            except BaseException as error:
                if passage.has_deferred:
                    await arun(count_by_answer.count(passage.visit, count_by_answer.status_of(error)))
                raise
            finally:
                passage.leave()

        return with_door(aguard, door)

    @functools.wraps(handler)
    def guard(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        passage = Passage(request, door)
        try:
            if passage.prepare(current.rulebook()):
                question = passage.question()  # exempt, blocked
                decision = decide.decide(question, "hit", passage.waited)  # rules
                if decision.allowed:
                    passage.keep(decision)
                else:
                    run(passage.refuse(decision))
            response = passage.refusal() if passage.refused else handler(request, *args, **kwargs)
            if passage.has_deferred:
                run(count_by_answer.count(passage.visit, getattr(response, "status_code", None)))
            return passage.answer(response)
        except BaseException as error:
            if passage.has_deferred:
                run(count_by_answer.count(passage.visit, count_by_answer.status_of(error)))
            raise
        finally:
            passage.leave()

    return with_door(guard, door)


async def _load(passage: Passage) -> None:
    """Fetch what identities are made of from the database, without blocking the event loop."""
    for rule in passage.rules:
        if rule.recipe.loaders:
            await rule.recipe.load(passage.seen)
    if passage.overrides is not None:
        await passage.overrides.load(passage.seen)
