"""Asking the store by way of this process's leases, for rules whose keys are hotter than one server answers."""

import time
from typing import Any

from ratewindow import conf
from ratewindow.limiter.leases import Leases
from ratewindow.limiter.redis.loop_deadline import within
from ratewindow.limiter.redis.thread_deadline import limited
from ratewindow.limiter.reply import Reply
from ratewindow.limiter.types import Check

leases = Leases()


def run(store: Any, checks: list[Check]) -> Reply:
    """The reply to a hit; a second call only where a lease was more than what is left, within the same time limit."""
    began_s = time.monotonic()
    plan = leases.plan(checks)
    try:
        reply = store.run(plan.asked, "hit") if plan.asked else []
    except BaseException:
        leases.give_back(plan)
        raise
    told = leases.settle(plan, reply)
    if told is not None:
        return told
    with limited(conf.current().timeout_s, began_s):
        return store.run(checks, "hit")  # type: ignore[no-any-return]


async def arun(store: Any, checks: list[Check], timeout_s: float) -> Reply:
    """`run` on the running event loop, both calls within one time limit."""
    began_s = time.monotonic()
    plan = leases.plan(checks)
    try:
        reply = await _answer(store, plan.asked, timeout_s) if plan.asked else []
    except BaseException:
        leases.give_back(plan)
        raise
    told = leases.settle(plan, reply)
    if told is not None:
        return told
    return await _answer(store, checks, max(0.0, timeout_s - (time.monotonic() - began_s)))


async def _answer(store: Any, checks: list[Check], timeout_s: float) -> Reply:
    answer = store.run(checks, "hit")
    return answer if isinstance(answer, list) else await within(timeout_s, answer)
