"""Hits by way of this process's leases, for rules whose keys are requested more often than one server answers."""

import time
from typing import Any

from ratewindow import conf
from ratewindow.limiter.leases import Leases
from ratewindow.limiter.redis.loop_deadline import within
from ratewindow.limiter.redis.thread_deadline import limited
from ratewindow.limiter.reply import Reply
from ratewindow.limiter.types import Check

leases = Leases()


def forget() -> None:
    """Hold nothing: in a fork the units are the parent's, and after a change of the settings those of another server. What a
    thread takes meanwhile goes to what was held before."""
    global leases
    leases = Leases()


def run(store: Any, checks: list[Check]) -> Reply:
    """The reply to a hit. A second call, within the same time limit, is made only if a lease asked for more than is left."""
    began_s, held = time.monotonic(), leases
    plan = held.plan(checks)
    try:
        reply = store.run(plan.asked, "hit") if plan.asked else []
    except BaseException:
        held.release(plan)
        raise
    settled = held.settle(plan, reply)
    if settled is not None:
        return settled
    with limited(conf.current().timeout_s, began_s):
        return store.run(checks, "hit")  # type: ignore[no-any-return]


async def arun(store: Any, checks: list[Check], timeout_s: float) -> Reply:
    """`run` on the running event loop, both calls within one time limit."""
    began_s, held = time.monotonic(), leases
    plan = held.plan(checks)
    try:
        reply = await _answer(store, plan.asked, timeout_s) if plan.asked else []
    except BaseException:
        held.release(plan)
        raise
    settled = held.settle(plan, reply)
    if settled is not None:
        return settled
    return await _answer(store, checks, max(0.0, timeout_s - (time.monotonic() - began_s)))


async def _answer(store: Any, checks: list[Check], timeout_s: float) -> Reply:
    answer = store.run(checks, "hit")
    return answer if isinstance(answer, list) else await within(timeout_s, answer)
