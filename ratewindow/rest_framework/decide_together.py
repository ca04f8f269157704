"""All throttles of one view at one request: they are asked together, so that all of them charge it or none does.

REST framework asks the throttles one after the other. The first one that is asked takes the others along into one
call, and they answer what has been decided. A throttle with an `allow_request` of its own may never mean to ask, so
it is asked by itself: if it refuses, what the others have charged is given back.

Where neither middleware nor decorator stands around the view, the sitting is what counts the request and writes
its headers: the view's `finalize_response` and `handle_exception` end it.
"""

from collections.abc import Callable, Iterable
from typing import Any, Protocol

from django.http import HttpRequest, HttpResponseBase
from rest_framework.exceptions import ErrorDetail, Throttled
from rest_framework.request import Request

from ratewindow.identity import original
from ratewindow.limiter.types import Decision, What
from ratewindow.request import count_by_answer, guard, headers, refusal
from ratewindow.request import decide as gate
from ratewindow.request import visit as met
from ratewindow.rulebook import current
from ratewindow.rulebook.current import Rulebook
from ratewindow.rules.rule import Rule


class Throttle(Protocol):
    """What a sitting asks of a throttle."""

    asks_together: bool

    def rules(self, book: Rulebook, request: Request, view: Any) -> Iterable[Rule]:
        """The rules that hold for this request, each as it sees the client."""


def decide(throttle: Throttle, request: Request, view: Any) -> Decision:
    """What all throttles of the view that are asked together say to this request."""
    plain = original(request)
    sitting: Sitting | None = getattr(plain, "_ratewindow_sitting", None)
    if sitting is not None and sitting.view is view and not sitting.ended:
        if type(throttle) in sitting.waiting:
            sitting.waiting.remove(type(throttle))
            return sitting.decision
        if type(throttle) not in sitting.asked:
            return sitting.ask_alone(throttle, request)
        sitting.end()  # the same throttle again: whoever calls it by hand asks anew
    sitting = plain._ratewindow_sitting = Sitting(throttle, request, view, plain)  # type: ignore[attr-defined]
    return sitting.decision


class Sitting:
    """One view's throttles and one request, from the first that is asked until the response is there."""

    def __init__(self, throttle: Throttle, request: Request, view: Any, plain: HttpRequest) -> None:
        self.view, self.plain, self.ended = view, plain, False
        listed = _throttles_of(view)
        others = _without(throttle, [each for each in listed if getattr(each, "asks_together", False)])
        self.waiting = [type(each) for each in others]
        self._listed = {type(throttle), *map(type, listed)}
        self.asked = {type(throttle), *self.waiting}
        self.decision, self.visit = self._ask((throttle, *others), request)
        if not self.decision.allowed:
            self._tell(self.decision)
        self._attend()

    def ask_alone(self, throttle: Throttle, request: Request) -> Decision:
        """What one more throttle says; nobody charges a request that another has refused. A throttle that is none of
        the view's, but asked in its code, tells the view, which may let the request pass."""
        self.asked.add(type(throttle))
        if type(throttle) not in self._listed:
            return self._ask((throttle,), request, block=False)[0]
        if not self.decision.allowed:
            return self._ask((throttle,), request, "peek")[0]
        told, _ = self._ask((throttle,), request)
        if not told.allowed:
            self.decision = told
            self._tell(told)
        return told

    def _ask(
        self, throttles: Iterable[Throttle], request: Request, what: What = "hit", block: bool = True
    ) -> tuple[Decision, guard.Visit]:
        """What holds for these throttles: what is decided now, and what a guard outside has decided on the same rules,
        which are not charged twice."""
        door, now = _Door(throttles, self.view, block), Decision()
        visit = guard.Visit(request, door)  # type: ignore[arg-type]
        if visit.meet(current.rulebook()):
            now = gate.decide(visit.question(), what, visit.vain)
            if what == "peek":
                return now, visit
            visit.settle(now)
            if visit.refunds:
                met.give_back(self.plain, visit.refunds)
        parts = [part for part in met.decisions_of(self.plain) if (part.rule, part.mode) in door.names or part.reason == "block"]
        return (Decision.of(parts) if parts else now), visit

    def _tell(self, refused: Decision) -> None:
        refusal.log_refusal(refused, self.plain)
        refusal.announce(self.plain, refused)

    def _attend(self) -> None:
        """End with the view; one that is no view of REST framework has no end to wait for."""
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
                if words := refusal.words_of(self.decision):
                    error.detail = ErrorDetail(words, error.default_code)
            try:
                return handle(error)
            except BaseException as raised:
                if self.visit.waits:
                    count_by_answer.count(self.plain, count_by_answer.status_of(raised))
                self.end()
                raise

        # Not by functools.wraps, which takes as long as all the rest of this.
        vars(finalize_response)["_ratewindow_instead_of"] = finalize
        vars(handle_exception)["_ratewindow_instead_of"] = handle
        self.view.finalize_response, self.view.handle_exception = finalize_response, handle_exception

    def _answer(self, response: HttpResponseBase) -> HttpResponseBase:
        if self.visit.waits:
            count_by_answer.count(self.plain, response.status_code)
        if not self.decision.allowed and response.status_code == refusal.status_of(self.decision):
            wait_s = headers.retry_after_s(self.decision)
            if wait_s is not None:
                response.headers.setdefault("Retry-After", str(wait_s))  # an exception handler of the site's may not have
            response.headers.setdefault("Cache-Control", "no-store")
        return self.visit.answer(response)

    def end(self) -> None:
        """Count the request, unless a guard outside does."""
        if not self.ended:
            self.ended = True
            self.visit.leave()


class _Door:
    """Several throttles as one door."""

    cost = 1
    at_view = True

    def __init__(self, throttles: Iterable[Throttle], view: Any, block: bool) -> None:
        self._throttles, self._view, self.block = throttles, view, block
        self.names: set[tuple[str, str]] = set()  # and modes of the rules

    def rules(self, book: Rulebook, request: Any) -> list[Rule]:
        found = [rule for throttle in self._throttles for rule in throttle.rules(book, request, self._view)]
        self.names = {told for rule in found for told in rule.decision_keys}
        return found


def _throttles_of(view: Any) -> list[Any]:
    """The view's throttles once more: it has made those that it asks before it asks the first."""
    make: Callable[[], Iterable[Any]] | None = getattr(view, "get_throttles", None)
    return list(make()) if make is not None else []


def _without(throttle: Throttle, others: list[Any]) -> list[Any]:
    mine = next((each for each in others if type(each) is type(throttle)), None)
    return [each for each in others if each is not mine]


def _own(view: Any, name: str) -> Any:
    """The view's own method, not what a sitting before has put in its place: tests use one view several times."""
    found: Any = getattr(view, name, None)
    return getattr(found, "_ratewindow_instead_of", found)
