"""Charges and refunds once the cost of a request's work is known, and refunds of any other kind."""

import logging
import time
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from redis.exceptions import RedisError

from ratewindow.limiter.limiter import check_cost, payable
from ratewindow.limiter.redis import faults
from ratewindow.limiter.types import Check, Decision, Refunds
from ratewindow.request import decide
from ratewindow.request.prepare import Question
from ratewindow.request.steps import Steps
from ratewindow.rulebook import current
from ratewindow.rules import code_rates
from ratewindow.rules.rule import check_name
from ratewindow.store import outage, stores

logger = logging.getLogger("ratewindow")


def charge_parts(decision: Decision, units: int, rule: str | None) -> Steps[None]:
    """Charge `units` more to the rules of a request's decision, or to the one that is named."""
    check_cost(units)
    named = rule is not None
    found = _parts(decision, rule) if units else []
    parts = [part for part in found if part.check is not None and (named or not _waits_for_answer(part))]
    if parts:
        yield from charge(parts, decide.waited(decision.decisions), units)


def charge(parts: Sequence[Decision], waited: str, units: int | None = None) -> Steps[Decision]:
    """Charge the rules of these decisions, each its own cost unless `units` says another."""
    question = question_of(parts, units)
    decision: Decision = yield decide.decide, decide.adecide, question, "charge", waited
    keep(parts, decision)
    return decision


def keep(parts: Sequence[Decision], decision: Decision) -> None:
    """Let these parts know of a later charge, so that it can be refunded, and say what is left by it."""
    show(parts, decision)
    for part, new in _pairs(parts, decision):
        if new.reason == "store":
            _mark(part, new.cause, new.took_s)
        elif new.windows:
            part.later += (new,)


def refund_parts(decision: Decision, units: int, rule: str | None) -> Steps[None]:
    """Refund up to `units` of what the rules of a request's decision, or the one that is named, have charged it."""
    check_cost(units)
    charged = [part for part in _parts(decision, rule) if rule is not None or not _waits_for_answer(part)]
    refunds = [each for part in charged for each in part.refunds(units)]
    if not refunds:
        return
    keys = {check.keys for check, _ in refunds}
    parts = [part for part in _parts(decision, None) if part.check is not None and part.check.keys in keys]
    unanswered = yield from refund(refunds, decide.waited(decision.decisions))
    if unanswered.took_s:  # the request must not wait again
        for part in parts:
            _mark(part, unanswered.cause, unanswered.took_s)
    if not unanswered.cause:
        show(parts, (yield decide.decide, decide.adecide, question_of(parts, 0), "peek"))


class Unanswered(NamedTuple):
    """Why units were not refunded, empty if they were, and how long the request waited for that."""

    cause: str = ""
    took_s: float = 0.0


def refund(refunds: Refunds, waited: str = "", forget: bool = True, now_ms: int | None = None) -> Steps[Unanswered]:
    """Refund units, and forget the refusals that this process knows unless `forget` is false. Nothing is refunded while
    Redis is away, or where the request has `waited` for it without an answer. A caller with a clock of its own gives
    `now_ms`."""
    began_s = time.monotonic()
    if waited or outage.breaker.open:
        return Unanswered(waited or outage.breaker.cause)
    try:
        yield _refund, _arefund, refunds, now_ms
    except (RedisError, OSError) as error:  # which must not fail the work that was charged
        logger.warning("ratewindow: a refund could not be made: %s", error)
        outage.report(error)
        return Unanswered(f"store:{faults.of(error).name}", time.monotonic() - began_s)
    if forget:
        outage.refusals.forget()
    return Unanswered()


def _refund(refunds: Refunds, now_ms: int | None) -> None:
    stores.store().refund(refunds, now_ms)


async def _arefund(refunds: Refunds, now_ms: int | None) -> None:
    await stores.answered((await stores.astore()).refund(refunds, now_ms))


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
    rules = [part.made_by for part in parts if part.made_by is not None]
    return Question([_check(part, units) for part in parts], [], rules)


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
        _log_missing(decision, rule)
    return list(parts.values())


def _log_missing(decision: Decision, rule: str) -> None:
    """Log a rule that nobody has defined: a wrong name, or a rule that was renamed, must not fail the view. A rule that
    somebody has defined may hold for other requests than this one."""
    check_name(rule)
    book = current.held()
    if rule not in book.by_name and rule not in code_rates.uses():
        met = ", ".join(part.rule for part in decision.decisions) or "none"
        book.log_missing(rule, f"nothing is charged or refunded; the request has met {met}")


def _waits_for_answer(part: Decision) -> bool:
    """Whether the answer decides if this is charged: code must name such a rule to change that."""
    return (part.check is not None and part.check.only_looks) or (part.made_by is not None and part.made_by.hold)
