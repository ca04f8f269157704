"""What is told once over all processes: whoever is the first to ask the store for it tells it.

To ask is to hit a window with a limit of one, under a key of the rule's, which cleaning knows and which expires. If Redis gives
no answer, nobody is the first; if only its answer was lost, nobody tells it.
"""

import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import lru_cache

from ratewindow.limiter.types import Check, Decision, Window
from ratewindow.request.prepare import Question
from ratewindow.store import process_clients, state_keys

MOST_KNOWN = 10_000


@lru_cache(MOST_KNOWN)
def claim(rule: str, of: Window, window: Window, about: str) -> Check:
    """What asks whether it is the first to tell something of a client, for as long as `window` counts it. `of` is the window of
    the rule by whose name it is kept."""
    once = replace(window, limit=1, burst=window.burst and 1)
    name, client = state_keys.state_name(rule, of, False), state_keys.client_tag.__wrapped__(f"{window.tag} {about}")
    return Check(rule, (once,), (state_keys.state(name, client),))


def first(claim: Check, decide: Callable[[Question], Decision]) -> bool:
    """Whether this is the first claim, as a decision of the store says."""
    return not _is_known(claim) and _learned(claim, decide(Question([claim], [], ())))


async def afirst(claim: Check, adecide: Callable[[Question], Awaitable[Decision]]) -> bool:
    """`first`, awaited."""
    return not _is_known(claim) and _learned(claim, await adecide(Question([claim], [], ())))


_known_until_s: dict[str, float] = {}  # by key: what this process knows was told, by the monotonic clock


def _is_known(claim: Check) -> bool:
    return _known_until_s.get(claim.keys[0], 0.0) > time.monotonic()


def _learned(claim: Check, decision: Decision) -> bool:
    """Whether the claim is the first. A store in memory is asked each time: its clock may be moved."""
    if decision.reason == "store":
        return False
    if not process_clients.in_memory():
        if len(_known_until_s) >= MOST_KNOWN:
            _known_until_s.clear()
        _known_until_s[claim.keys[0]] = time.monotonic() + (decision.reset_after or 0)
    return decision.allowed


def forget() -> None:
    """Know nothing any more: the settings lead to another server, or other keys."""
    _known_until_s.clear()
    claim.cache_clear()
