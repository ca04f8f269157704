"""All throttles of one view at one request: they decide together, so that all of them charge it or none does.

REST framework calls the throttles one after the other. The first one decides for all of them in one call, and the
others return that decision. A throttle with code of the site's own for the verdict decides alone when it is called: it may
exempt a request, or do more than refuse it. If it refuses, what the others have charged is refunded.

If neither middleware nor decorator stands around the view, its throttles count the request and write its headers: the
view's `finalize_response` and `handle_exception` end that.
"""

from collections.abc import Iterable
from functools import cached_property
from typing import Any

from django.http import HttpResponseBase
from rest_framework.exceptions import ErrorDetail, Throttled
from rest_framework.request import Request

from ratewindow.identity import original
from ratewindow.limiter.types import Decision
from ratewindow.request import count_by_answer, decide as decisions, doors, guard, headers, refusal, visit
from ratewindow.rulebook import current
from ratewindow.rules.rule import Rule


class Together(doors.Door):
    """Several throttles as one door."""

    at_view = True

    def __init__(self, throttles: Iterable[Any], view: Any, block: bool = True, request: Request | None = None) -> None:
        self._throttles, self._view, self.block, self._request = throttles, view, block, request
        self.names: set[tuple[str, str]] = set()  # and modes of the rules

    def rules(self, book: current.Rulebook, request: Any) -> list[Rule]:
        rules = [rule for each in self._throttles for rule in each.rules(book, self._request or request, self._view)]
        self.names = {name for rule in rules for name in rule.decision_keys}
        return rules


def decide(throttle: Any, request: Request, view: Any) -> Decision:
    """The decision of a throttle, and of those of the view that decide together with it."""
    known: ViewThrottles | None = visit.of(original(request)).throttles
    if known is not None and known.view is view and not known.ended:
        return known.decide(throttle, request)
    # Code of a view may call another view with the same request, whose throttles do not count it again.
    begun = ViewThrottles(request, view, known.names if known is not None and known.view is view else set())
    decision = begun.decide(throttle, request)
    begun.attend()
    return decision


class ViewThrottles:
    """One view's throttles at one request, from the first that is called until the response is there."""

    def __init__(self, request: Request, view: Any, names: set[tuple[str, str]]) -> None:
        self.view, self.ended, self._has_begun = view, False, False
        self.names = names  # and modes of rules that throttles have decided: another throttle counts them again
        self.decision = Decision()  # of the throttle that refuses, once there is one
        self._around = guard.Passage(request, Together((), view))
        self._around.visit.throttles = self
        self._shared = Decision()
        self._waiting: list[type] = []  # throttles whose decision is made, and who have not asked for it

    def decide(self, throttle: Any, request: Request) -> Decision:
        """The decision of this throttle and, if it decides together with others, those of the view that do."""
        if type(throttle) in self._waiting:
            self._waiting.remove(type(throttle))
            return self._shared
        if not throttle.decides_together or not self._is_listed(throttle):
            return self._decide((throttle,), request)
        same = next(each for each in self._listed if type(each) is type(throttle))
        others = [each for each in self._listed if each is not same and getattr(each, "decides_together", False)]
        self._waiting = [type(each) for each in others]
        self._shared = self._decide((throttle, *others), request)
        return self._shared

    @cached_property
    def _listed(self) -> list[Any]:
        """The view's throttles once more: the view makes its own before it calls the first."""
        return list(getattr(self.view, "get_throttles", list)())

    def _is_listed(self, throttle: Any) -> bool:
        return any(type(each) is type(throttle) for each in self._listed)

    def _decide(self, throttles: tuple[Any, ...], request: Request) -> Decision:
        """The decision of these throttles: what is decided now, and what a guard outside has decided on the same rules, which
        are not charged twice. None charges a request that another one has refused. One that is not the view's, but called
        in its code, leaves it to the view to refuse; the first is the view's."""
        block = not self._has_begun or self._is_listed(throttles[0]) or not self._listed
        door, self._has_begun = Together(throttles, self.view, block), True
        passage, now = guard.Passage(request, door), Decision()
        outside = [part for part in passage.visit.decision.parts if (part.rule, part.mode) not in self.names]
        if passage.prepare(current.rulebook(), self.names):
            if not self.decision.allowed:
                return decisions.decide(passage.question(), "peek")
            now = decisions.decide(passage.question())
            if now.allowed:
                passage.keep(now)
            else:
                decisions.run(passage.keep_refusal(now))
            self.names |= {(part.rule, part.mode) for part in now.parts}
        met = [part for part in outside if (part.rule, part.mode) in door.names or part.reason == "block"]
        decision = Decision.of([*met, *now.parts]) if met else now
        if door.block and not decision.allowed:
            self.decision = decision
            refusal.log_refusal(decision, original(request))
            refusal.announce(original(request), decision)
        return decision

    def attend(self) -> None:
        """End with the view; one that is not a view of REST framework has no end to wait for."""
        finalize, handle = getattr(self.view, "finalize_response", None), getattr(self.view, "handle_exception", None)
        if finalize is None or handle is None:
            self.end()
            return

        def end() -> None:
            self.view.finalize_response, self.view.handle_exception = finalize, handle
            self.end()

        def finalize_response(*args: Any, **kwargs: Any) -> HttpResponseBase:
            try:
                return self._answer(finalize(*args, **kwargs))
            finally:
                end()

        def handle_exception(error: Exception) -> Any:
            if isinstance(error, Throttled) and not self.decision.allowed:
                error.status_code = refusal.answer_to(self.decision).status
                if description := refusal.description_of(self.decision):
                    error.detail = ErrorDetail(description, error.default_code)
            try:
                return handle(error)
            except BaseException as raised:
                if self._around.has_deferred:
                    decisions.run(count_by_answer.count_error(self._around.visit, raised))
                end()
                raise

        self.view.finalize_response, self.view.handle_exception = finalize_response, handle_exception

    def _answer(self, response: HttpResponseBase) -> HttpResponseBase:
        if self._around.has_deferred:
            decisions.run(count_by_answer.count(self._around.visit, response.status_code))
        if not self.decision.allowed and response.status_code == refusal.answer_to(self.decision).status:
            refusal.add_headers(response, headers.retry_after_s(self.decision))  # the site's exception handler may not have
        return self._around.answer(response)

    def end(self) -> None:
        """Count the request, unless a guard outside does."""
        if not self.ended:
            self.ended = True
            self._around.leave()
