"""What is known of one request on its way through the doors: its `Visit`, at `request._ratewindow`; and what it is charged or
refunded later, once the cost of its work is known.

A `Decision` is one answer. The visit has the decision on all rules that the request has met by now, and what is still to be
done about it. It begins at the outermost guard and ends where that is left. What comes later, from a body that is streamed
or by a test that sends its request again, is not part of it.
"""

import logging
import time
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import fields
from operator import attrgetter
from typing import Any

from django.http import HttpRequest
from redis.exceptions import RedisError

from ratewindow.limiter.arguments import check_cost, payable
from ratewindow.limiter.redis import faults
from ratewindow.limiter.types import Check, Decision, Refunds
from ratewindow.request import decide
from ratewindow.request.decide import Steps, arun, run
from ratewindow.request.prepare import Question, waited
from ratewindow.rulebook import current
from ratewindow.rules import code_rates
from ratewindow.rules.rule import check_name
from ratewindow.store import outage, stores

logger = logging.getLogger("ratewindow")

NOTHING_MET = Decision()


class Visit:
    """One request's visit: what its rules have decided, and what is still to be done about it."""

    decision = NOTHING_MET  # on all rules that the request has met by now
    is_open = False  # while a guard will count the request and write its headers
    is_over = False
    deferred: Any = None  # the rules that count by the answer
    login_failed = False
    throttles: Any = None  # those of REST framework that decided together

    def add(self, decision: Decision) -> None:
        """Add what a guard has decided."""
        before = self.decision
        self.decision = decision if before is NOTHING_MET else Decision.of([*before.decisions, *decision.decisions])

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
        for part in decision.decisions:
            part.by_code = True
        self.decision = Decision.of([*others, *decision.decisions]) if others else decision

    def refuse(self) -> Refunds:
        """Mark the decisions of rules that let the request pass, or would have refused it, as `other`: another rule refuses
        it now.

        Returns what guards outside have charged, since a refused request costs nothing. What counts refused requests keeps
        its charge, as it does in one call. What code has charged, by name or late, stays charged: the work may be done.
        """
        if self.decision is NOTHING_MET:
            return []
        refunds = [
            refund
            for part in self.decision.decisions
            for each in (part, *part.later)
            if each.check is not None and not each.check.counts_refused and not each.by_code
            for refund in each.refunds(each.check.cost, with_later=False)
        ]
        for part in self.decision.decisions:
            for each in (part, *(early for early in part.later if early.check is not None and early.check.only_looks)):
                if each.outcome in ("passed", "would_refuse"):
                    each.outcome = "other"
        return refunds

    def refund(self, refunds: Refunds) -> Steps[None]:
        """Refund what a refused request was charged, and show what is left then. Refusals that this process knows stay
        known: a client that hammers would else make it forget them each time."""
        cause, _ = yield from refund(refunds, self.decision, forget=False)
        if not cause:
            show_refunded(self.decision.decisions, refunds)

    def review(self) -> None:
        """Let the whole decision say what its parts say now; the part that decides may be another one than before."""
        if self.decision.allowed and self.decision.parts:
            self.decision = Decision.of(self.decision.parts)

    def end(self) -> Collection[Decision]:
        """End at the outermost guard; returns what the report counts."""
        self.is_open, self.is_over = False, True
        decision = self.decision
        if decision.parts:
            return _once_for_each_rule(decision.parts)
        return (decision,) if decision.rule else ()


class RequestDecision(Decision):
    """A request's decision, which the view can charge and refund once it knows what its work has cost.

    It says what all rules say that the request has met by now. Units are those of the limits. All these rules are
    charged, in one call, or the one that `rule` names; those that count by the answer (`count_when`) only if they are
    named. A charge refuses nothing: what is used may then exceed a limit, and the client's next requests wait. The headers
    of the answer show what is left after it. While Redis is unavailable nothing is charged or refunded, and no error is raised;
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
        run(charge_parts(self._visit, units, rule))

    def refund(self, units: int, rule: str | None = None) -> None:
        """Refund up to `units` of what this request was charged, the newest charges first."""
        run(refund_parts(self._visit, units, rule))

    async def acharge(self, units: int, rule: str | None = None) -> None:
        """`charge`, awaited."""
        await arun(charge_parts(self._visit, units, rule))

    async def arefund(self, units: int, rule: str | None = None) -> None:
        """`refund`, awaited."""
        await arun(refund_parts(self._visit, units, rule))


for _field in fields(Decision):
    setattr(RequestDecision, _field.name, property(attrgetter(f"_visit.decision.{_field.name}")))


def begin(request: HttpRequest) -> Visit:
    """The visit of this request that begins now; nothing is kept of an earlier one."""
    visit: Visit | None = getattr(request, "_ratewindow", None)
    if visit is None or visit.is_over:
        if visit is not None:
            _clear(request)
        visit = request._ratewindow = Visit()  # type: ignore[attr-defined]
    request.ratewindow = RequestDecision(visit)  # type: ignore[attr-defined]
    visit.is_open = True
    return visit


def of(request: HttpRequest) -> Visit:
    """The request's visit; an empty one if none has begun."""
    visit: Visit | None = getattr(request, "_ratewindow", None)
    return visit or Visit()


def _clear(request: HttpRequest) -> None:
    for name in [name for name in vars(request) if name in ("ratewindow", "limited") or name.startswith("_ratewindow")]:
        delattr(request, name)


def _once_for_each_rule(decisions: Collection[Decision]) -> Collection[Decision]:
    """A row in shadow shares its name with the rate in code that it runs in parallel to: what happened is the code's decision,
    what would have happened the row's."""
    by_rule: dict[str, Decision] = {}
    for decision in sorted(decisions, key=lambda each: _PRECEDENCE.index(each.outcome)):
        by_rule.setdefault(decision.rule, decision)
    return by_rule.values()


_PRECEDENCE = ("refused", "other", "would_refuse", "passed")


def charge_parts(visit: Visit, units: int, rule: str | None) -> Steps[None]:
    """Charge `units` more to the rules of a request's decision, or to the one that is named."""
    check_cost(units)
    met = _parts(visit.decision, rule) if units else []
    parts = [part for part in met if part.check is not None and (rule is not None or not _waits_for_answer(part))]
    if parts:
        yield from charge(parts, visit.decision, units)
    visit.review()


def charge(parts: Sequence[Decision], met: Decision, units: int | None = None) -> Steps[Decision]:
    """Charge the rules of these decisions, each its own cost unless `units` says another. `met` is what the request has met."""
    decision: Decision = yield decide.decide, decide.adecide, question_of(parts, units).after(met), "charge"
    for part in decision.decisions:
        part.by_code = True
    show(parts, decision)
    for part, new in _pairs(parts, decision):
        if new.reason == "store":
            _mark(part, new.cause, new.took_s)
        elif new.windows:
            part.later += (new,)  # so that it can be refunded
    return decision


def refund_parts(visit: Visit, units: int, rule: str | None) -> Steps[None]:
    """Refund up to `units` of what the rules of a request's decision, or the one that is named, have charged it."""
    check_cost(units)
    decision = visit.decision
    charged = (part for part in _parts(decision, rule) if rule is not None or not _waits_for_answer(part))
    refunds = [each for part in charged for each in part.refunds(units)]
    if not refunds:
        return
    keys = {check.keys for check, _ in refunds}
    parts = [part for part in _parts(decision, None) if part.check is not None and part.check.keys in keys]
    cause, took_s = yield from refund(refunds, decision)
    for part in parts if took_s else ():  # the request must not wait again
        _mark(part, cause, took_s)
    if not cause:
        show(parts, (yield decide.decide, decide.adecide, question_of(parts, 0), "peek"))
    visit.review()


def refund(refunds: Refunds, met: Decision = NOTHING_MET, forget: bool = True) -> Steps[tuple[str, float]]:
    """Refund units, and forget the refusals that this process knows unless `forget` is false. Nothing is refunded while
    Redis is unavailable, or where the request, which has `met` this before, has waited for it without an answer. Returns why not,
    or an empty text, and how long the request has waited for that."""
    began_s = time.monotonic()
    if cause := waited(met) or (outage.breaker.cause if outage.breaker.open else ""):
        return cause, 0.0
    try:
        yield _refund, _arefund, refunds
    except (RedisError, OSError) as error:  # which must not fail the work that was charged
        logger.warning("ratewindow: a refund could not be made: %s", error)
        outage.report(error)
        return f"store:{faults.of(error).name}", time.monotonic() - began_s
    if forget:
        outage.refusals.forget()
    return "", 0.0


def _refund(refunds: Refunds) -> None:
    stores.store().refund(refunds)


async def _arefund(refunds: Refunds) -> None:
    await stores.answered((await stores.astore()).refund(refunds))


def show(parts: Sequence[Decision], decision: Decision) -> None:
    """Let these parts say what is left by a later decision on them, as far as the store has answered it."""
    for part, new in _pairs(parts, decision):
        if new.reason == "store" or not new.windows:
            continue
        charged = [answer.charged_at_ms for answer in part.windows] or [-1] * len(new.windows)
        part.limit, part.remaining, part.window, part.at_s = new.limit, new.remaining, new.window, new.at_s
        part.reset_after = max(new.reset_after or 0, part.retry_after or 0)
        part.windows = tuple(answer._replace(charged_at_ms=at_ms) for answer, at_ms in zip(new.windows, charged, strict=True))


def _pairs(parts: Sequence[Decision], later: Decision) -> list[tuple[Decision, Decision]]:
    """Each part with the later decision on it, but for rules in shadow that were left out of that."""
    found = {new.check.keys: new for new in later.decisions if new.check is not None}
    return [(part, found[part.check.keys]) for part in parts if part.check is not None and part.check.keys in found]


def show_refunded(parts: Sequence[Decision], refunds: Refunds) -> None:
    """Let these parts say what is left after such refunds, without a call of the store."""
    units: Counter[tuple[str, ...]] = Counter()
    for check, _ in refunds:
        units[check.keys] += check.cost
    for part in parts:
        if part.check is not None and part.remaining is not None and (refunded := units[part.check.keys]):
            part.remaining += refunded
            part.windows = tuple(
                answer._replace(remaining=answer.remaining + refunded, wait_ms=0, charged_at_ms=-1) for answer in part.windows
            )


def question_of(parts: Sequence[Decision], units: int | None = None) -> Question:
    """What charges the rules of these decisions, each its own cost unless `units` says another."""
    return Question([_check(part, units) for part in parts], [], [part.made_by for part in parts if part.made_by is not None])


def _check(part: Decision, units: int | None) -> Check:
    assert part.check is not None
    return payable(part.check._replace(cost=part.check.cost if units is None else units, only_looks=False))


def _mark(part: Decision, cause: str, took_s: float) -> None:
    """Count this part as decided without the store."""
    part.reason, part.cause = part.reason or "store", part.cause or cause
    part.took_s = max(part.took_s, took_s)


def _parts(decision: Decision, rule: str | None) -> list[Decision]:
    """One for each rule: several throttles may have one scope, and no call may have a key twice."""
    parts = {(part.rule, part.mode): part for part in decision.decisions if rule is None or part.rule == rule}
    if rule is not None and not parts:
        check_name(rule)
        if rule not in (book := current.held()).by_name and rule not in code_rates.uses():  # renamed: it must not fail the view
            book.log_missing(rule, "nothing is charged or refunded")
    return list(parts.values())


def _waits_for_answer(part: Decision) -> bool:
    """Whether the answer decides if this is charged: code must name such a rule to change that."""
    return (part.check is not None and part.check.only_looks) or (part.made_by is not None and part.made_by.hold)
