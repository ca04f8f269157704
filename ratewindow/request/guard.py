"""The guard around a handler, which is the middleware's next one or a view. It decides in this order:

1. off: where limits are switched off, by ENABLED or the kill switch, the handler is called and nothing is counted;
2. exempt: a client that is exempt from all rules, or from some, is not counted by them;
3. blocked: a blocked client is refused, and nothing is charged. An exemption from all rules outweighs every block;
4. rules: one call of the store charges all rules that hold for the request if each has room, and otherwise none. If the
   store does not answer, each rule's `on_error` decides (`without_redis`);
5. answer: the handler's, or the refusal, with headers that show what is left. Rules that count by the answer have only been
   checked in step 4, and are charged now; with `hold` they have been charged, and are refunded if the answer does not count.

The outermost guard of a request, the middleware where there is one, also counts the decisions for the reports. Guards
inside it decide the rules that have not been decided yet. If one refuses, what guards outside have charged is refunded.
"""

import functools
from collections.abc import Callable, Sequence, Set
from typing import Any

from asgiref.sync import sync_to_async
from django.http import HttpRequest, HttpResponseBase

from ratewindow import conf
from ratewindow.counting.counters import counters
from ratewindow.identity import original
from ratewindow.limiter.types import Decision
from ratewindow.request import count_by_answer, decide, headers, refusal, visit
from ratewindow.request.decide import Steps, arun, run
from ratewindow.request.doors import Door, is_async, with_door
from ratewindow.request.open_to_staff import IN_PATHS, PAGES, rules_instead
from ratewindow.request.prepare import Question, ask, judge, load
from ratewindow.rulebook import current
from ratewindow.rules import rate_options
from ratewindow.rules.rule import Rule
from ratewindow.signals import throttled

Handler = Callable[..., Any]


class Passage:
    """One request passing one guard; what all its guards know is in its visit."""

    __slots__ = (
        "counts_by_answer",
        "door",
        "outermost",
        "overrides",
        "refusal",
        "request",
        "rules",
        "seen",
        "settings",
        "succeeded",
        "visit",
    )

    def __init__(self, request: HttpRequest, door: Door) -> None:
        self.seen = request  # with the user that it was authenticated as here
        self.request = original(request) if door.at_view else request
        self.door = door
        known: visit.Visit | None = getattr(self.request, "_ratewindow", None)
        self.outermost = known is None or not known.is_open
        self.visit = visit.begin(self.request) if known is None or self.outermost else known
        self.settings = conf.current()
        self.refusal: Decision | None = None  # by this guard: one outside may have left it to the view to refuse
        self.counts_by_answer = self.succeeded = False
        if door.at_view:
            self.request.limited = getattr(self.request, "limited", False)  # type: ignore[attr-defined]

    def prepare(self, book: current.Rulebook, again: Set[tuple[str, str]] = frozenset()) -> bool:
        """Find what to decide, and return whether there is anything: not if limits are switched off (`book` is empty under the
        kill switch), or if no rule, block or exemption may hold. A rule that a guard outside has decided is left out, unless its
        name and mode are among those that may be decided `again`."""
        if not self.settings.enabled:
            return False
        rules = self.door.rules(book, self.seen)
        self.counts_by_answer, self.overrides = book.counts_by_answer, book.overrides
        if not self.outermost:
            decided = {(part.rule, part.mode) for part in self.visit.decision.parts} - again
            rules = [rule for rule in rules if decided.isdisjoint(rule.decision_keys)]
        self.rules = rules if isinstance(rules, list) else [*rules]
        return bool(self.rules) or self.overrides is not None

    async def load(self) -> None:
        """Fetch what identities are made of from the database, without blocking the event loop."""
        await load(self.rules, self.seen)
        if self.overrides is not None:
            await self.overrides.load(self.seen, self.rules)

    def question(self) -> Question:
        """What to ask the store: nothing for an exempt or blocked client, else the checks of its rules."""
        rules: Sequence[Rule] = self.rules
        if self.overrides is not None:
            rules, settled = judge(self.overrides.of_request(self.seen, rules), rules, self.seen)
            if settled:
                return Question([], settled, ())
        question = ask(self.seen, rules, self.door.cost, self.settings)
        return question if self.outermost else question.after(self.visit.decision)

    def keep(self, decision: Decision) -> None:
        """Keep a decision by which the request goes on to the handler."""
        self.visit.add(decision)
        if self.counts_by_answer or rate_options.counts_by_answer:
            count_by_answer.defer(self.visit, decision)

    def refuse(self, decision: Decision) -> Steps[None]:
        """Refuse the request, unless it is for what stays open to staff, and within the small limit of that."""
        if IN_PATHS.search(self.request.path_info):
            instead = yield rules_instead, sync_to_async(rules_instead), self.request, self.rules, decision
            if instead and (yield from self.passes(instead, decision)):
                return
        yield from self.keep_refusal(decision)
        if throttled.receivers:
            yield refusal.announce, refusal.aannounce, self.request, decision

    def passes(self, rules: list[Rule], refused: Decision) -> Steps[bool]:
        """Whether these rules, the last of which is a small limit, let the request pass that others have refused."""
        self.rules, self.overrides = rules, None if rules[-1] is PAGES else self.overrides
        decision: Decision = yield decide.decide, decide.adecide, self.question().after(refused)
        if decision.allowed:
            self.keep(Decision.of(part for part in decision.parts if part.rule != rules[-1].name))
        return decision.allowed

    def keep_refusal(self, decision: Decision) -> Steps[None]:
        """Keep a refusal, and refund what guards outside have charged, unless the view decides."""
        if self.door.at_view:
            self.request.limited = True  # type: ignore[attr-defined]
        if not self.door.block:
            self.keep(decision)
            return
        self.refusal = decision
        refunds = self.visit.refuse()
        self.visit.add(decision)
        if refunds:
            yield from self.visit.refund_uncounted(refunds)

    @property
    def has_deferred(self) -> bool:
        """Whether rules wait for the answer, to know if it counts. Asked after the view, whose import may add such rules."""
        return self.outermost and self.visit.deferred is not None

    def answer(self, response: HttpResponseBase) -> HttpResponseBase:
        """The response with the headers of all rules that the request has matched."""
        if self.outermost and isinstance(response, HttpResponseBase):  # else Django says what a view must return
            decision = self.visit.decision
            self.succeeded = response.status_code < 400 and not self.visit.login_failed
            if decision is not visit.NOTHING_MATCHED:
                headers.write(response, decision, self.settings.headers)
            if not decision.allowed and self.refusal is None and response.status_code == 429:  # by REST framework, or by the view
                refusal.leave_log_to_ours(response)
        return response

    def leave(self) -> None:
        if self.outermost:
            counters.record(self.visit.end(), self.settings.stats, self.request, self.succeeded)


def guarded(handler: Handler, door: Door) -> Handler:
    """The handler, called only for requests that pass; a coroutine function if it is awaited."""
    if is_async(handler):

        @functools.wraps(handler)
        async def aguard(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            passage = Passage(request, door)
            try:
                book = await current.arulebook()
                if passage.settings.enabled and (awaited := door.awaited) is not None:
                    passage.door = await awaited(book, request)
                if passage.prepare(book):
                    await passage.load()
                    decision = await decide.adecide(passage.question())
                    if decision.allowed:
                        passage.keep(decision)
                    else:
                        await arun(passage.refuse(decision))
                if passage.refusal is not None:
                    response = await refusal.arefusal(passage.request, passage.refusal)
                else:
                    response = await handler(request, *args, **kwargs)
                if passage.has_deferred:
                    await arun(count_by_answer.count(passage.visit, getattr(response, "status_code", None)))
                if visit.watch_answer is not None and passage.outermost:
                    await arun(visit.watch_answer(passage.request, response))
                return passage.answer(response)
            except BaseException as error:
                if passage.has_deferred:
                    await arun(count_by_answer.count_error(passage.visit, error))
                raise
            finally:
                passage.leave()

        return with_door(aguard, door)

    @functools.wraps(handler)
    def guard(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        passage = Passage(request, door)
        try:
            if passage.prepare(current.rulebook()):
                decision = decide.decide(passage.question())  # exempt, blocked; rules
                if decision.allowed:
                    passage.keep(decision)
                else:
                    run(passage.refuse(decision))
            if passage.refusal is not None:
                response = refusal.refusal(passage.request, passage.refusal)
            else:
                response = handler(request, *args, **kwargs)
            if passage.has_deferred:
                run(count_by_answer.count(passage.visit, getattr(response, "status_code", None)))
            if visit.watch_answer is not None and passage.outermost:
                run(visit.watch_answer(passage.request, response))
            return passage.answer(response)
        except BaseException as error:
            if passage.has_deferred:
                run(count_by_answer.count_error(passage.visit, error))
            raise
        finally:
            passage.leave()

    return with_door(guard, door)
