"""What a request is charged or refunded after its decision: once the cost of its work is known, by its answer, or since a rule
further in refuses it.

Nothing here refuses a request, or fails the work that it is charged for. While Redis is unavailable nothing is charged. A refund
of what did not count is then kept until it is back; one that a view asks for is not.
"""

import logging
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from operator import methodcaller
from typing import Any

from redis.exceptions import RedisError

from ratewindow.limiter.arguments import payable
from ratewindow.limiter.redis import faults
from ratewindow.limiter.types import Check, Decision, Flag, Refunds, RuleDecision
from ratewindow.request import decide
from ratewindow.request.decide import Steps
from ratewindow.request.prepare import Question, waited
from ratewindow.store import outage, stores

logger = logging.getLogger("ratewindow")

MOST_MISSED = 10_000  # refunds that wait for Redis in one process; beyond it the oldest stay counted
MOST_AT_ONCE = 20


def charge(parts: Sequence[RuleDecision], matched: Decision, units: int | None = None) -> Steps[Decision]:
    """Charge the rules of these decisions, each its own cost unless `units` says another. `matched` is the request's decision
    so far."""
    decision: Decision = yield decide.decide, decide.adecide, question_of(parts, units).after(matched), "charge"
    for part in decision.parts:
        part.by_code = True
    show(parts, decision)
    for part, new in _pairs(parts, decision):
        if new.reason == "store":
            mark(part, new.cause, new.took_s)
        elif new.windows:
            part.also_charged += (new,)  # so that it can be refunded
    return decision


def refund(refunds: Refunds, matched: Decision, forget: bool = True, flag: Flag | None = None) -> Steps[tuple[str, float]]:
    """Refund units, and forget the refusals that this process knows unless `forget` is false; with `flag`, also set that key.
    Nothing is refunded where the request, whose decision so far is `matched`, has waited for Redis without an answer. Returns
    why nothing was refunded, or an empty text, and how long the request has waited for that."""
    return (yield from _call(methodcaller("refund", refunds, flag=flag), matched, "a refund could not be made", forget))


def forgive(parts: Sequence[RuleDecision], matched: Decision) -> Steps[None]:
    """Delete what the rules of these decisions have counted for the client, and its lock-outs. While Redis is unavailable they
    stay."""
    keys = [key for part in parts if part.check is not None for key in (*part.check.keys, part.check.lock) if key]
    yield from _call(methodcaller("reset", keys), matched, "counts could not be deleted")


def _call(call: Callable[[Any], Any], matched: Decision, failed: str, forget: bool = True) -> Steps[tuple[str, float]]:
    """What `refund` says, for any call of the store."""
    began_s = time.monotonic()
    if cause := waited(matched) or (outage.breaker.cause if outage.breaker.open else ""):
        return cause, 0.0
    try:
        yield on_store, on_astore, call
    except (RedisError, OSError) as error:
        logger.warning("ratewindow: %s: %s", failed, error)
        outage.report(error)
        return f"store:{faults.of(error).name}", time.monotonic() - began_s
    if forget:
        outage.refusals.forget()
    return "", 0.0


def on_store(call: Callable[[Any], Any]) -> None:
    """Call the store of threads: ``methodcaller("reset", keys)``."""
    call(stores.store())


async def on_astore(call: Callable[[Any], Any]) -> None:
    """Call that of the running event loop."""
    await stores.answered(call(await stores.astore()))


# Refunds that Redis was not there for: what did not count must not stay counted.
missed: deque[Any] = deque(maxlen=MOST_MISSED)


def has_missed() -> bool:
    return bool(missed) and not outage.breaker.open


def refund_missed() -> None:
    """Refund what was kept, once Redis answers again. A count that has ended meanwhile is left alone."""
    while has_missed():
        first = [missed.popleft() for _ in range(min(len(missed), MOST_AT_ONCE))]
        try:
            stores.store().refund(first)
        except (RedisError, OSError) as error:
            if faults.of(error).concerns is faults.Concerns.SERVER:  # else they would fail for ever, and hold up the others
                missed.extendleft(reversed(first))
            raise


def show(parts: Sequence[RuleDecision], decision: Decision) -> None:
    """Let these parts say what is left by a later decision on them, as far as the store has answered it."""
    for part, new in _pairs(parts, decision):
        if new.reason == "store" or not new.windows:
            continue
        charged = [answer.charged_at_ms for answer in part.windows] or [-1] * len(new.windows)
        part.limit, part.remaining, part.window, part.at_s = new.limit, new.remaining, new.window, new.at_s
        part.reset_after = max(new.reset_after or 0, part.retry_after or 0)
        if new.mode == "soft" and part.counts:
            part.outcome, part.reason = new.outcome, new.reason
        part.windows = tuple(answer._replace(charged_at_ms=at_ms) for answer, at_ms in zip(new.windows, charged, strict=True))


def _pairs(parts: Sequence[RuleDecision], later: Decision) -> list[tuple[RuleDecision, RuleDecision]]:
    """Each part with the later decision on it, but for rules in shadow that were left out of that."""
    found = {new.check.keys: new for new in later.parts if new.check is not None}
    return [(part, found[part.check.keys]) for part in parts if part.check is not None and part.check.keys in found]


def show_refunded(parts: Sequence[RuleDecision], refunds: Refunds) -> None:
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


def question_of(parts: Sequence[RuleDecision], units: int | None = None) -> Question:
    """What charges the rules of these decisions, each its own cost unless `units` says another."""
    return Question(
        [_check(part.check, units) for part in parts if part.check is not None],
        [],
        [part.made_by for part in parts if part.made_by is not None],
    )


def _check(check: Check, units: int | None) -> Check:
    return payable(check._replace(cost=check.cost if units is None else units, only_looks=False))


def mark(part: RuleDecision, cause: str, took_s: float) -> None:
    """Count this part as decided without the store."""
    part.reason, part.cause = part.reason or "store", part.cause or cause
    part.took_s = max(part.took_s, took_s)
