"""What is known of one request on its way through the doors: its `Visit`, at `request._ratewindow`.

A visit begins at the outermost guard and ends where that is left. What comes later, from a body that is streamed or by a
test that sends its request again, is not part of it.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import fields
from operator import attrgetter
from typing import Any

from django.http import HttpRequest

from ratewindow.limiter.types import Decision, Refunds
from ratewindow.request import candidates, charge_later, decide
from ratewindow.request.steps import Steps, arun, run

NOTHING_DECIDED = Decision()


class Visit:
    """One request's visit: what its rules have decided, and what is still to be done about it."""

    decision = NOTHING_DECIDED  # on all rules that the request has met by now
    is_open = False  # while a guard will count the request and write its headers
    is_over = False
    status = 0  # of the answer, once there is one
    optional: tuple[Decision, ...] = ()  # decisions that refuse nobody, since the view decides (``block=False``)
    by_code: tuple[Decision, ...] = ()  # those of code that has named the rule, not of a guard
    besides: tuple[Decision, ...] = ()  # those that a later one of the same rule has replaced, or added units to
    deferred: Any = None  # the rules that count by the answer
    login_failed = False
    throttles: Any = None  # those of REST framework that decided together
    clocks_ms: Mapping[tuple[str, ...], int] = {}  # the times of those with a clock of the site's own, by the keys of checks

    def add(self, decision: Decision, blocks: bool = True) -> None:
        """Add what a guard has decided; `blocks` unless the view decides."""
        before = self.decision
        self.decision = decision if before is NOTHING_DECIDED else Decision.of([*before.decisions, *decision.decisions])
        if not blocks:
            self.optional = (*self.optional, *decision.decisions)

    def replace(self, decision: Decision) -> None:
        """Add a decision that code has asked for by the rule's name. It replaces earlier ones of the rule, and keeps them for
        refunds."""
        newest = {(part.rule, part.mode): part for part in decision.decisions}
        others = []
        for part in self.decision.decisions:
            newer = newest.get((part.rule, part.mode))
            if newer is None:
                others.append(part)
            else:
                newer.later = (*part.later, part)
                self.besides = (*self.besides, part)
        self.by_code = (*self.by_code, *decision.decisions)
        self.decision = Decision.of([*others, *decision.decisions]) if others else decision

    def blocking(self) -> list[Decision]:
        """The decisions that would also refuse the next request."""
        return _without(self.optional, self.decision.decisions)

    def refuse(self) -> Refunds:
        """Mark the decisions of rules that let the request pass, or would have refused it, as `other`: another rule refuses
        it now.

        Returns what guards outside have charged, since a refused request costs nothing. What counts refused requests keeps
        its charge, as it does in one call. What code has charged, by name or late, stays charged: the work may be done.
        """
        if self.decision is NOTHING_DECIDED:
            return []
        refunds = [
            refund
            for part in _without(self.by_code, (*self.decision.decisions, *self.besides))
            if part.check is not None and not part.check.counts_refused
            for refund in part.refunds(part.check.cost, with_later=False)
        ]
        for part in self.decision.decisions:
            for each in (part, *(early for early in part.later if early.check is not None and early.check.only_looks)):
                if each.outcome in ("passed", "would_refuse"):
                    each.outcome = "other"
        return refunds

    def refund(self, refunds: Refunds) -> Steps[None]:
        """Refund what a refused request was charged, and show what is left then. Refusals that this process knows stay
        known: a client that hammers would else make it forget them each time."""
        for now_ms in {self.clocks_ms.get(check.keys) for check, _ in refunds}:
            of_clock = [each for each in refunds if self.clocks_ms.get(each[0].keys) == now_ms]
            unanswered = yield from charge_later.refund(of_clock, self.waited, forget=False, now_ms=now_ms)
            if not unanswered.cause:
                charge_later.show_refunded(self.decision.decisions, of_clock)

    @property
    def waited(self) -> str:
        """Why the request has waited for Redis without an answer; empty if it has not."""
        return decide.waited(self.decision.decisions)

    def review(self) -> None:
        """Let the whole decision say what its parts say now; the part that decides may be another one than before."""
        if self.decision.allowed and self.decision.parts:
            self.decision = Decision.of(self.decision.parts)

    def end(self) -> Collection[Decision]:
        """End at the outermost guard; returns what the report counts."""
        self.is_open, self.is_over = False, True
        decision = self.decision
        if decision.parts:
            return _once_for_each_rule(candidates.compared(decision.parts))
        return (decision,) if decision.rule else ()


class RequestDecision(Decision):
    """A request's decision, which the view can charge and refund once it knows what its work has cost.

    It says what all rules say that the request has met by now. Units are those of the limits. All these rules are
    charged, in one call, or the one that `rule` names; those that count by the answer (`count_when`) only if they are
    named. A charge refuses nothing: what is used may then exceed a limit, and the client's next requests wait. The headers
    of the answer show what is left after it. While Redis is away nothing is charged or refunded, and no error is raised;
    nor is one for a rule that nobody has defined, which is logged once. ValueError names a bad number of units and a bad
    name. The forms with an ``a`` are for async views.
    """

    __slots__ = ("_visit",)

    def __init__(self, visit: Visit) -> None:
        self._visit = visit

    @property
    def decisions(self) -> tuple[Decision, ...]:
        return self._visit.decision.decisions

    def charge(self, units: int, rule: str | None = None) -> None:
        """Charge `units` more, whatever stands against it."""
        run(self._charge(units, rule))

    def refund(self, units: int, rule: str | None = None) -> None:
        """Refund up to `units` of what this request was charged, the newest charges first."""
        run(self._refund(units, rule))

    async def acharge(self, units: int, rule: str | None = None) -> None:
        """`charge`, awaited."""
        await arun(self._charge(units, rule))

    async def arefund(self, units: int, rule: str | None = None) -> None:
        """`refund`, awaited."""
        await arun(self._refund(units, rule))

    def _charge(self, units: int, rule: str | None) -> Steps[None]:
        yield from charge_later.charge_parts(self._visit.decision, units, rule)
        self._visit.review()

    def _refund(self, units: int, rule: str | None) -> Steps[None]:
        yield from charge_later.refund_parts(self._visit.decision, units, rule)
        self._visit.review()


for _field in fields(Decision):
    setattr(RequestDecision, _field.name, property(attrgetter(f"_visit.decision.{_field.name}")))


def begin(request: HttpRequest) -> Visit:
    """The visit of this request that begins now; nothing is kept of an earlier one."""
    visit: Visit | None = getattr(request, "_ratewindow", None)
    try:
        if visit is None or visit.is_over:
            if visit is not None:
                _clear(request)
            visit = request._ratewindow = Visit()  # type: ignore[attr-defined]
        request.ratewindow = RequestDecision(visit)  # type: ignore[attr-defined]
    except AttributeError:
        remedy = "limit views that Django calls; in other code call ratewindow.hit(name, identity)"
        raise TypeError(f"{request!r:.40} was passed as the request, but is not one: {remedy}") from None
    visit.is_open = True
    return visit


def of(request: HttpRequest) -> Visit:
    """The request's visit; an empty one if none has begun."""
    visit: Visit | None = getattr(request, "_ratewindow", None)
    return visit or Visit()


def _clear(request: HttpRequest) -> None:
    for name in [name for name in vars(request) if name in ("ratewindow", "limited") or name.startswith("_ratewindow")]:
        delattr(request, name)


def _without(others: Iterable[Decision], decisions: Iterable[Decision]) -> list[Decision]:
    if not others:
        return [*decisions]
    return [part for part in decisions if not any(part is each for each in others)]


def _once_for_each_rule(decisions: Collection[Decision]) -> Collection[Decision]:
    """A row in shadow shares its name with the rate in code that it runs in parallel to: what happened is the code's decision,
    what would have happened the row's."""
    by_rule: dict[str, Decision] = {}
    for decision in sorted(decisions, key=lambda each: _PRECEDENCE.index(each.outcome)):
        by_rule.setdefault(decision.rule, decision)
    return by_rule.values()


_PRECEDENCE = ("refused", "other", "would_refuse", "passed")
