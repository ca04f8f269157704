"""Charging a request more, or giving back, once the cost of its work is known: `request.ratewindow.charge` and `.refund`."""

import logging
import time
from collections.abc import Sequence
from typing import NamedTuple

from redis.exceptions import RedisError

from ratewindow.limiter.limiter import check_cost, payable
from ratewindow.limiter.redis import faults
from ratewindow.limiter.types import Check, Decision, Refunds
from ratewindow.request import decide
from ratewindow.request.prepare import Question
from ratewindow.rulebook import current
from ratewindow.rules import code_rates
from ratewindow.rules.rule import check_name
from ratewindow.store import outage, stores

logger = logging.getLogger("ratewindow")


class RequestDecision(Decision):
    """A request's decision, which the view can charge and refund once it knows what its work has cost.

    Units are those of the limits. All rules that the request has met are charged, in one call, or the one that
    `rule` names; those that count by the answer (`count_when`) only if they are named. Nothing is refused by it: what is
    used may then exceed a limit, and the client's next requests wait. The headers of the answer tell what is left
    after it. While Redis is away nothing is charged or given back, and no error is raised; nor of a rule that nobody has
    defined, which the log says once. ValueError names a bad number of units and a bad name. The forms with an ``a`` are
    for async views.
    """

    __slots__ = ()  # `join` makes one of a Decision by its class alone: a copy would cost each request sixteen fields

    def charge(self, units: int, rule: str | None = None) -> None:
        """Charge `units` more, whatever stands against it."""
        if parts := _to_charge(self, check_cost(units), rule):
            learn(parts, decide.decide(question_of(parts, units), "charge", decide.waited(self.decisions)))
            look_anew(self)

    def refund(self, units: int, rule: str | None = None) -> None:
        """Give back up to `units` of what this request was charged, the newest charges first."""
        if refunds := _to_give_back(self, check_cost(units), rule):
            parts = _refunded(self, refunds)
            if _is_done(give_back(refunds, decide.waited(self.decisions)), parts):
                show(parts, decide.decide(question_of(parts, 0), "peek"))
            look_anew(self)

    async def acharge(self, units: int, rule: str | None = None) -> None:
        """`charge`, awaited."""
        if parts := _to_charge(self, check_cost(units), rule):
            learn(parts, await decide.adecide(question_of(parts, units), "charge", decide.waited(self.decisions)))
            look_anew(self)

    async def arefund(self, units: int, rule: str | None = None) -> None:
        """`refund`, awaited."""
        if refunds := _to_give_back(self, check_cost(units), rule):
            parts = _refunded(self, refunds)
            if _is_done(await agive_back(refunds, decide.waited(self.decisions)), parts):
                show(parts, await decide.adecide(question_of(parts, 0), "peek"))
            look_anew(self)


def question_of(parts: Sequence[Decision], units: int | None = None) -> Question:
    """The question that charges the rules of these decisions, each its own cost unless `units` says another."""
    known = current.held().by_name
    rules = [known[part.rule] for part in parts if part.rule in known]
    return Question([_check(part, units) for part in parts], [], rules)


def learn(parts: Sequence[Decision], told: Decision) -> None:
    """What was decided stands; what is left, and what could be given back, is as after this charge."""
    show(parts, told)
    for part, new in zip(parts, told.decisions, strict=True):
        if new.reason == "store":
            _mark(part, new.cause, new.took_s)
        elif new.windows:
            part.later += (new,)


def show(parts: Sequence[Decision], told: Decision) -> None:
    """Let these decisions say what is left now, where the store has told it."""
    for part, new in zip(parts, told.decisions, strict=True):
        if new.reason == "store" or not new.windows:
            continue
        charged = [answer.charged_at_ms for answer in part.windows] or [-1] * len(new.windows)
        part.limit, part.remaining, part.window, part.at_s = new.limit, new.remaining, new.window, new.at_s
        part.reset_after = max(new.reset_after or 0, part.retry_after or 0)
        part.windows = tuple(answer._replace(charged_at_ms=at_ms) for answer, at_ms in zip(new.windows, charged, strict=True))


def show_given_back(parts: Sequence[Decision], refunds: Refunds) -> None:
    """Let these decisions say what is left after such refunds, without asking the store."""
    units = {check.keys: check.cost for check, _ in refunds}
    for part in parts:
        if part.check is not None and part.remaining is not None and (back := units.get(part.check.keys, 0)):
            part.remaining += back
            part.windows = tuple(
                answer._replace(remaining=answer.remaining + back, wait_ms=0, charged_at_ms=-1) for answer in part.windows
            )


class GivenBack(NamedTuple):
    """Whether units were given back: why not, and how long it took to find out."""

    cause: str = ""
    took_s: float = 0.0


def give_back(refunds: Refunds, vain: str = "", forget: bool = True) -> GivenBack:
    """Give back units, and believe no refusal of before, unless `forget` is false; while Redis is away, or where the
    request has waited for it in vain, nothing is given back."""
    began_s = time.monotonic()
    if outage.breaker.open or vain:
        return GivenBack(vain or outage.breaker.cause)
    try:
        stores.store().refund(refunds)
    except (RedisError, OSError) as error:
        return _kept_from_callers(error, began_s)
    if forget:
        outage.refusals.forget()
    return GivenBack()


async def agive_back(refunds: Refunds, vain: str = "", forget: bool = True) -> GivenBack:
    """`give_back`, awaited."""
    began_s = time.monotonic()
    if outage.breaker.open or vain:
        return GivenBack(vain or outage.breaker.cause)
    try:
        await stores.answered((await stores.astore()).refund(refunds))
    except (RedisError, OSError) as error:
        return _kept_from_callers(error, began_s)
    if forget:
        outage.refusals.forget()
    return GivenBack()


def _kept_from_callers(error: Exception, began_s: float) -> GivenBack:
    """A refund that cannot be made must not fail the work it is about."""
    logger.warning("ratewindow: a refund could not be made: %s", error)
    outage.report(error)
    return GivenBack(f"store:{faults.of(error).name}", time.monotonic() - began_s)


def _is_done(given: GivenBack, parts: Sequence[Decision]) -> bool:
    """Whether it is; what has waited in vain says so, lest the request waits again."""
    for part in parts if given.took_s else ():
        _mark(part, given.cause, given.took_s)
    return not given.cause


def _mark(part: Decision, cause: str, took_s: float) -> None:
    """Count this as decided without the store."""
    part.reason, part.cause = part.reason or "store", part.cause or cause
    part.took_s = max(part.took_s, took_s)


def _parts(decision: Decision, rule: str | None) -> list[Decision]:
    """One for each rule: several throttles may have one scope, and no call may have a key twice."""
    told = {(part.rule, part.mode): part for part in decision.decisions if rule is None or part.rule == rule}
    if rule is not None and not told:
        _tell_unmet(decision, rule)
    return list(told.values())


def _tell_unmet(decision: Decision, rule: str) -> None:
    """A rule that nobody has defined is a name that is wrong, or a rule that was renamed since, which must not fail the
    view. One that somebody has defined may hold for others than this request."""
    check_name(rule)
    book = current.held()
    if rule not in book.by_name and rule not in code_rates.uses():
        met = ", ".join(part.rule for part in decision.decisions) or "none"
        book.log_missing(rule, f"nothing is charged or given back; the request has met {met}")


def _to_charge(decision: Decision, units: int, rule: str | None) -> list[Decision]:
    parts = _parts(decision, rule) if units else []
    return [part for part in parts if part.check is not None and (rule is not None or not _waits_for_the_answer(part))]


def _to_give_back(decision: Decision, units: int, rule: str | None) -> Refunds:
    parts = [part for part in _parts(decision, rule) if rule is not None or not _waits_for_the_answer(part)]
    return [refund for part in parts for refund in part.take_back(units)]


def _waits_for_the_answer(part: Decision) -> bool:
    """Whether the answer decides if this is charged: code must name such a rule to change that."""
    known = current.held().by_name.get(part.rule)
    return (part.check is not None and part.check.only_looks) or (known is not None and known.hold)


def _refunded(decision: Decision, refunds: Refunds) -> list[Decision]:
    keys = {check.keys for check, _ in refunds}
    return [part for part in _parts(decision, None) if part.check is not None and part.check.keys in keys]


def _check(part: Decision, units: int | None) -> Check:
    assert part.check is not None
    return payable(part.check._replace(cost=part.check.cost if units is None else units, only_looks=False))


def look_anew(decision: Decision) -> None:
    """The whole says what its deciding part says; which one that is, may be another by now."""
    if decision.allowed and decision.parts:
        now = Decision.of(decision.parts)
        for field in ("limit", "remaining", "reset_after", "rule", "window", "windows", "at_s"):
            setattr(decision, field, getattr(now, field))
