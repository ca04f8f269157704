"""What is told once over all processes: whoever is the first to ask the store for it tells it.

To ask is to hit a window with a limit of one, under a key of the rule's, which cleaning knows and which expires. Refused claims
count, so in a window that slides whoever goes on asking is never the first again. If Redis gives no answer, nobody is the first;
if only its answer was lost, nobody tells it.
"""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import lru_cache

from ratewindow.limiter.types import Check, Decision, Window
from ratewindow.request.prepare import Question
from ratewindow.store import process_clients, state_keys


@dataclass
class Claim:
    """The claim to be the first to tell something, and until when this process knows that it was told, by the monotonic clock."""

    question: Question
    until_s: float = 0.0


@lru_cache(10_000)  # what this process knows; of what it forgets, the store knows
def claim(rule: str, of: Window, window: Window, about: str) -> Claim:
    """The claim to tell something of a client, which holds as long as `window` counts it. Its key is named as that of `of`, a
    window of the rule."""
    once = replace(window, limit=1, burst=window.burst and 1)
    name, client = state_keys.state_name(rule, of.tag, False), state_keys.client_tag.__wrapped__(f"{window.tag} {about}")
    return Claim(Question([Check(rule, (once,), (state_keys.state(name, client),), counts_refused=True)], [], ()))


def first(claim: Claim, decide: Callable[[Question], Decision]) -> bool:
    """Whether this is the first claim, as a decision of the store says."""
    return claim.until_s <= time.monotonic() and _learned(claim, decide(claim.question))


async def afirst(claim: Claim, adecide: Callable[[Question], Awaitable[Decision]]) -> bool:
    """`first`, awaited."""
    return claim.until_s <= time.monotonic() and _learned(claim, await adecide(claim.question))


def _learned(claim: Claim, decision: Decision) -> bool:
    """Whether the claim is the first. A store in memory is asked each time: its clock may be moved; another one twice in a
    period, since where that slides, each claim begins it anew."""
    is_answered = decision.reason != "store"
    if is_answered and not process_clients.in_memory():
        claim.until_s = time.monotonic() + (decision.reset_after or 0) / 2
    return is_answered and decision.allowed
