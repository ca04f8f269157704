"""All throttles of one view at one request: they decide together, so that all of them charge it or none does.

REST framework calls the throttles one after the other. The first one decides for all of them in one call, and the
others return that decision. A throttle with code of the site's own for the verdict decides alone when it is called: it may
exempt a request, or do more than refuse it. So does one with a clock of the site's own, since one call has one time. If it
refuses, what the others have charged is refunded.

If neither middleware nor decorator stands around the view, its throttles count the request and write its headers: the
view's `finalize_response` and `handle_exception` end that.
"""

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any, Protocol

from django.http import HttpRequest, HttpResponseBase
from rest_framework.exceptions import ErrorDetail, Throttled
from rest_framework.request import Request

from ratewindow.identity import original
from ratewindow.limiter.types import Decision, What
from ratewindow.request import charge_later, count_by_answer, headers, refusal, visit
from ratewindow.request import decide as decisions
from ratewindow.request.doors import Awaited
from ratewindow.request.guard import Passage
from ratewindow.request.prepare import Cost, Question
from ratewindow.request.steps import run
from ratewindow.rulebook import current
from ratewindow.rulebook.current import Rulebook
from ratewindow.rules.rule import Rule


class Throttle(Protocol):
    """What is to be known of a throttle."""

    now_ms: int | None  # by a clock of the site's own

    @property
    def decides_together(self) -> bool:
        """With the others of the view, in one call."""

    def rules(self, book: Rulebook, request: Request, view: Any) -> Iterable[Rule]:
        """The rules that hold for this request, each with the client that the throttle identifies."""


def decide(throttle: Throttle, request: Request, view: Any) -> Decision:
    """The decision of a throttle, and of those of the view that decide together with it."""
    known: ViewThrottles | None = visit.of(original(request)).throttles
    if known is None or known.view is not view:
        return ViewThrottles(throttle, request, view, set()).decision
    if not known.ended:
        if type(throttle) in known.waiting:
            known.waiting.remove(type(throttle))
            return known.shared
        if known.has_yet_to_call(throttle):
            return known.decide_more(throttle, request)
        known.end()  # the same throttle again, called by code of the site's: another decision
    return ViewThrottles(throttle, request, view, known.names).decision


def charge(parts: list[Decision], units: int, request: Request, now_ms: int | None) -> None:
    """Charge these parts of a throttle's decision so many units more, or refund them where that is less than nothing."""
    parts = [part for part in parts if part.check is not None]
    waited, known = decisions.waited(parts), visit.of(original(request))
    if units > 0 and parts:
        added = _decided(charge_later.question_of(parts, units), "charge", waited, now_ms)
        charge_later.keep(parts, added)
        known.besides = (*known.besides, *added.decisions)  # which a refusal refunds, as part of the verdict
    else:
        refunds = [each for part in parts for each in part.refunds(-units)]
        if refunds and not run(charge_later.refund(refunds, waited, now_ms=now_ms)).cause:
            charge_later.show_refunded(parts, refunds)
    known.review()


class ViewThrottles:
    """One view's throttles at one request, from the first that is called until the response is there."""

    def __init__(self, throttle: Throttle, request: Request, view: Any, names: set[tuple[str, str]]) -> None:
        self.view, self.ended = view, False
        self.names = names  # and modes of rules that throttles have decided: another of the same scope counts again
        self.plain: HttpRequest = original(request)
        self.waiting: list[type] = []  # whose decision is made, and who have not asked for it
        self._called: list[type] = []
        self.decision, self.passage = self._decide(self._group(throttle), request)
        self.shared = self.decision  # of those who are waiting
        self.passage.visit.throttles = self
        if not self.decision.allowed:
            self._announce(self.decision)
        self._attend()

    @cached_property
    def _listed(self) -> list[Any]:
        """The view's throttles once more: the view makes its own before it calls the first."""
        make: Callable[[], Iterable[Any]] | None = getattr(self.view, "get_throttles", None)
        return list(make()) if make is not None else []

    def _count(self, kind: type) -> int:
        return sum(type(each) is kind for each in self._listed)

    def has_yet_to_call(self, throttle: Throttle) -> bool:
        """Whether the view, or once code in it, may call a throttle of this class for the first time."""
        return self._called.count(type(throttle)) < max(1, self._count(type(throttle)))

    def decide_more(self, throttle: Throttle, request: Request) -> Decision:
        """The decision of more throttles; none charges a request that another one refuses. A throttle that is not the
        view's, but called in its code, leaves it to the view to refuse."""
        if not self._count(type(throttle)):
            self._called.append(type(throttle))
            return self._decide((throttle,), request, block=False)[0]
        decision, _ = self._decide(self._group(throttle), request, "hit" if self.decision.allowed else "peek")
        if throttle.decides_together:
            self.shared = decision
        if self.decision.allowed and not decision.allowed:
            self.decision = decision
            self._announce(decision)
        return decision

    def _group(self, throttle: Throttle) -> tuple[Throttle, ...]:
        """This throttle and, if it decides together with others, those of the view that do."""
        others: list[Throttle] = []
        if throttle.decides_together:
            others = _without(throttle, [each for each in self._listed if getattr(each, "decides_together", False)])
            self.waiting = [type(each) for each in others]
        self._called += [type(throttle), *map(type, others)]
        return (throttle, *others)

    def _decide(
        self, throttles: tuple[Throttle, ...], request: Request, what: What = "hit", block: bool = True
    ) -> tuple[Decision, Passage]:
        """The decision of these throttles: what is decided now, and what a guard outside has decided on the same rules,
        which are not charged twice."""
        door = Together(throttles, self.view, block)
        passage, now = Passage(request, door), Decision()
        outside = [part for part in passage.visit.decision.decisions if (part.rule, part.mode) not in self.names]
        if passage.prepare(current.rulebook(), self.names):
            now = self._asked(passage, what, throttles[0].now_ms)
            if what == "peek":
                return now, passage
            if now.allowed:
                passage.keep(now)
            else:
                run(passage.keep_refusal(now))
            self.names |= {(part.rule, part.mode) for part in now.decisions}
        met = [part for part in outside if (part.rule, part.mode) in door.names or part.reason == "block"]
        return (Decision.of([*met, *now.decisions]) if met else now), passage

    def _asked(self, passage: Passage, what: What, now_ms: int | None) -> Decision:
        question = passage.question()
        if now_ms is not None:
            clocks_ms = {check.keys: now_ms for check in question.checks}
            passage.visit.clocks_ms = {**passage.visit.clocks_ms, **clocks_ms}
        return _decided(question, what, passage.waited, now_ms)

    def _announce(self, refused: Decision) -> None:
        refusal.log_refusal(refused, self.plain)
        refusal.announce(self.plain, refused)

    def _attend(self) -> None:
        """End with the view; one that is not a view of REST framework has no end to wait for."""
        finalize, handle = _own(self.view, "finalize_response"), _own(self.view, "handle_exception")
        if finalize is None or handle is None:
            self.end()
            return

        def finalize_response(*args: Any, **kwargs: Any) -> HttpResponseBase:
            try:
                return self._answer(finalize(*args, **kwargs))
            finally:
                self.end()

        def handle_exception(error: Exception) -> Any:
            if isinstance(error, Throttled) and not self.decision.allowed:
                error.status_code = refusal.status_of(self.decision)
                if description := refusal.description_of(self.decision):
                    error.detail = ErrorDetail(description, error.default_code)
            try:
                return handle(error)
            except BaseException as raised:
                if self.passage.has_deferred:
                    run(count_by_answer.count(self.passage.visit, count_by_answer.status_of(raised)))
                self.end()
                raise

        # Not by functools.wraps, which takes as long as all the rest of this.
        vars(finalize_response)["_ratewindow_instead_of"] = finalize
        vars(handle_exception)["_ratewindow_instead_of"] = handle
        self.view.finalize_response, self.view.handle_exception = finalize_response, handle_exception

    def _answer(self, response: HttpResponseBase) -> HttpResponseBase:
        if self.passage.has_deferred:
            run(count_by_answer.count(self.passage.visit, response.status_code))
        if not self.decision.allowed and response.status_code == refusal.status_of(self.decision):
            refusal.add_headers(response, headers.retry_after_s(self.decision))  # the site's exception handler may not have
        return self.passage.answer(response)

    def end(self) -> None:
        """Count the request, unless a guard outside does."""
        if not self.ended:
            self.ended = True
            self.passage.leave()


class Together:
    """Several throttles as one door."""

    cost: Cost = 1
    at_view = True
    awaited: Awaited | None = None

    def __init__(self, throttles: Iterable[Throttle], view: Any, block: bool) -> None:
        self._throttles, self._view, self.block = throttles, view, block
        self.names: set[tuple[str, str]] = set()  # and modes of the rules

    def rules(self, book: Rulebook, request: Any) -> list[Rule]:
        found = [rule for throttle in self._throttles for rule in throttle.rules(book, request, self._view)]
        self.names = {each for rule in found for each in rule.decision_keys}
        return found


def _decided(question: Question, what: What, waited: str, now_ms: int | None) -> Decision:
    return decisions.decide(question, what, waited) if now_ms is None else decisions.decide_at(now_ms, question, what, waited)


def _without(throttle: Throttle, others: list[Any]) -> list[Any]:
    same = next((each for each in others if type(each) is type(throttle)), None)
    return [each for each in others if each is not same]


def _own(view: Any, name: str) -> Any:
    """The view's own method, not what an earlier request has put in its place: tests use one view several times."""
    found: Any = getattr(view, name, None)
    return getattr(found, "_ratewindow_instead_of", found)
