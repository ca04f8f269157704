"""One request on its way through the doors: its `Visit`, at `request._ratewindow`; and what its view sees of it.

A `Decision` is one answer. A visit has the decision on all rules that the request has matched so far, and what is still to be
done about it. It begins at the outermost guard and ends where that is left. What comes later, from a body that is streamed
or by a test that sends its request again, is not part of it.
"""

from collections.abc import Callable, Collection
from dataclasses import fields
from operator import attrgetter
from typing import Any

from django.http import HttpRequest, HttpResponseBase

from ratewindow.limiter.arguments import check_cost
from ratewindow.limiter.types import Decision, Flag, Refunds, RuleDecision
from ratewindow.request import decide, late_charges
from ratewindow.request.decide import Steps, arun, run
from ratewindow.rulebook import current
from ratewindow.rules import code_rates
from ratewindow.rules.rule import check_name

NOTHING_MATCHED = Decision()

# What a room does with each request that begins, and with its answer; None without one.
watch: Callable[[HttpRequest], None] | None = None
watch_answer: Callable[[HttpRequest, HttpResponseBase], Steps[None]] | None = None


class Visit:
    """What is known of one request, and what is still to be done about it."""

    decision = NOTHING_MATCHED  # on all rules that the request has matched so far
    is_open = False  # while a guard will count the request and write its headers
    is_over = False
    deferred: Any = None  # the rules that count by the answer
    login_failed = False
    logged_in = False
    throttles: Any = None  # those of REST framework that decided together

    def add(self, decision: Decision) -> None:
        """Add what a guard has decided."""
        before = self.decision
        self.decision = decision if before is NOTHING_MATCHED else Decision.of([*before.parts, *decision.parts])

    def replace(self, decision: Decision) -> None:
        """Add a decision that code has asked for by the rule's name. It takes the place of earlier ones of the rule, which it
        keeps for refunds."""
        newest = {(part.rule, part.mode): part for part in decision.parts}
        others = []
        for part in self.decision.parts:
            newer = newest.get((part.rule, part.mode))
            if newer is None:
                others.append(part)
            else:
                newer.also_charged = (*part.also_charged, part)
        for part in decision.parts:
            part.by_code = True
        self.decision = Decision.of([*others, *decision.parts]) if others else decision

    def refuse(self) -> Refunds:
        """Mark the decisions of rules that let the request pass, or would have refused it, as `other`: another rule refuses
        it now.

        Returns what guards outside have charged, since a refused request costs nothing. What counts refused requests keeps
        its charge, as it does in one call. What code has charged, by name or late, stays charged: the work may be done. So do
        logins of which the end is not known: their passwords may be being checked.
        """
        refunds: list[Any] = []
        if self.decision is NOTHING_MATCHED:
            return refunds
        under_way = {id(each.part) for each in self.deferred or () if each.attempt is not None}
        parts = [part for part in self.decision.parts if id(part) not in under_way]
        for part in parts:
            for each in (part, *part.also_charged):
                if each.check is not None and not each.check.counts_refused and not each.by_code:
                    refunds += each.refunds(each.check.cost, with_others=False)
        for part in parts:
            looked = (other for other in part.also_charged if other.check is not None and other.check.only_looks)
            for each in (part, *looked):
                if each.outcome in ("passed", "would_refuse"):
                    each.outcome = "other"
        return refunds

    def refund_uncounted(self, refunds: Refunds, flag: Flag | None = None) -> Steps[bool]:
        """Refund what a refused request was charged, or one that does not count, and show what is left then: later, if Redis
        does not answer. Returns whether it is done. Refusals that this process knows stay known: a client that hammers would
        else make it forget them each time."""
        cause, _ = yield from late_charges.refund(refunds, self.decision, forget=False, flag=flag)
        if cause:
            late_charges.missed.extend(refunds)
        else:
            late_charges.show_refunded(self.decision.parts, refunds)
        return not cause

    def charge_units(self, units: int, rule: str | None) -> Steps[None]:
        """Charge `units` more to the rules of this request's decision, or to the one that is named."""
        check_cost(units)
        matched = self._parts(rule) if units else []
        parts = [part for part in matched if part.check is not None and (rule is not None or not _waits_for_answer(part))]
        if parts:
            yield from late_charges.charge(parts, self.decision, units)
        self.review()

    def refund_units(self, units: int, rule: str | None) -> Steps[None]:
        """Refund up to `units` of what the rules of this request's decision, or the one that is named, have charged it."""
        check_cost(units)
        charged = (part for part in self._parts(rule) if rule is not None or not _waits_for_answer(part))
        refunds = [each for part in charged for each in part.refunds(units)]
        if not refunds:
            return
        keys = {check.keys for check, _ in refunds}
        parts = [part for part in self._parts(None) if part.check is not None and part.check.keys in keys]
        cause, took_s = yield from late_charges.refund(refunds, self.decision)
        for part in parts if took_s else ():  # the request must not wait again
            late_charges.mark(part, cause, took_s)
        if not cause:
            decision = yield decide.decide, decide.adecide, late_charges.question_of(parts, 0), "peek"
            late_charges.show(parts, decision)
        self.review()

    def _parts(self, rule: str | None) -> list[RuleDecision]:
        """One for each rule: several throttles may have one scope, and no call may have a key twice."""
        parts = {(part.rule, part.mode): part for part in self.decision.parts if rule is None or part.rule == rule}
        if rule is not None and not parts:
            check_name(rule)
            book = current.held()
            if rule not in book.by_name and not code_rates.is_used(rule):  # renamed: it must not fail the view
                book.log_missing(rule, "nothing is charged or refunded")
        return list(parts.values())

    def review(self) -> None:
        """Let the whole decision say what its parts say now; the part that decides may be another one than before."""
        if self.decision.allowed and self.decision.parts:
            self.decision = Decision.of(self.decision.parts)

    def end(self) -> Collection[RuleDecision]:
        """End at the outermost guard; returns what the report counts."""
        self.is_open, self.is_over = False, True
        if self.decision.__class__ is RuleDecision:  # nearly always
            return (self.decision,)
        return _once_for_each_rule(self.decision.parts)


def begin(request: HttpRequest) -> Visit:
    """The visit of this request that begins now; nothing is kept of an earlier one."""
    visit: Visit | None = getattr(request, "_ratewindow", None)
    if visit is None or visit.is_over:
        if visit is not None:
            _clear(request)
        visit = request._ratewindow = Visit()  # type: ignore[attr-defined]
    request.ratewindow = RequestDecision(visit)  # type: ignore[attr-defined]
    visit.is_open = True
    if watch is not None:
        watch(request)
    return visit


def of(request: HttpRequest) -> Visit:
    """The request's visit; an empty one if none has begun."""
    return getattr(request, "_ratewindow", None) or Visit()


def _clear(request: HttpRequest) -> None:
    for name in [name for name in vars(request) if name in ("ratewindow", "limited") or name.startswith("_ratewindow")]:
        delattr(request, name)


def _once_for_each_rule(decisions: Collection[RuleDecision]) -> Collection[RuleDecision]:
    """A row in shadow shares its name with the rate in code that it runs in parallel to: what happened is the code's decision,
    what would have happened the row's."""
    weakest_first = sorted(decisions, key=lambda each: _FROM_WEAKEST.index(each.outcome))
    return {decision.rule: decision for decision in weakest_first}.values()


_FROM_WEAKEST = ("passed", "would_refuse", "other", "refused")


def _waits_for_answer(part: RuleDecision) -> bool:
    """Whether the answer decides if this is charged: code must name such a rule to change that."""
    return (part.check is not None and part.check.only_looks) or (part.made_by is not None and part.made_by.hold)


class RequestDecision(Decision):
    """A request's decision as its view has it, at `request.ratewindow`; the view can charge and refund it once it knows what its
    work has cost.

    It says what all rules say that the request has matched so far. Units are those of the limits. All these rules are
    charged, in one call, or the one that `rule` names; those that count by the answer (`count_when`) only if they are
    named. A charge refuses nothing: what is used may then exceed a limit, and the client's next requests wait. The headers
    of the answer show what is left after it. While Redis is unavailable nothing is charged or refunded, and no error is raised;
    nor is one for a rule that nobody has defined, which is logged once. ValueError names a bad number of units and a bad
    name. The forms with an ``a`` are for async views.
    """

    __slots__ = ("_visit",)

    def __init__(self, visit: Visit) -> None:
        self._visit = visit

    def __reduce__(self) -> tuple[Any, ...]:
        return self._visit.decision.__reduce__()

    def charge(self, units: int, rule: str | None = None) -> None:
        """Charge `units` more, whatever stands against it."""
        run(self._visit.charge_units(units, rule))

    def refund(self, units: int, rule: str | None = None) -> None:
        """Refund up to `units` of what this request was charged, the newest charges first."""
        run(self._visit.refund_units(units, rule))

    async def acharge(self, units: int, rule: str | None = None) -> None:
        """`charge`, awaited."""
        await arun(self._visit.charge_units(units, rule))

    async def arefund(self, units: int, rule: str | None = None) -> None:
        """`refund`, awaited."""
        await arun(self._visit.refund_units(units, rule))


for _name in ("parts", "deciding", *(field.name for field in fields(Decision))):
    setattr(RequestDecision, _name, property(attrgetter(f"_visit.decision.{_name}")))
