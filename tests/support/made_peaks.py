"""Decisions with windows, as a store's reply makes them, for recordings made by hand."""

from ratewindow.limiter.types import Check, Decision, Window, WindowAnswer
from ratewindow.rulebook.recordings import Recorded
from ratewindow.store import state_keys

WINDOW = Window(10, 60_000)
NOW_S = 1_800_000_000.0  # a full hour: 15 January 2027, 08:00 UTC


def recorded(pk: int = 1, until_s: float = NOW_S + 86_400, left_out: frozenset[str] = frozenset()) -> Recorded:
    return Recorded(pk, WINDOW.tag, until_s, left_out)


def asked(
    who: str = "ip:203.0.113.9",
    used: int = 1,
    outcome: str = "passed",
    *,
    rule: str = "login",
    cost: int = 1,
    window: Window = WINDOW,
    cause: str = "",
) -> Decision:
    """A request after which the client has used so many units."""
    check = Check(rule, (window,), (f"rw:s:xxxxxxxxyyyyyyyy:{state_keys.client_tag(who)}",), cost, identity=who)
    wait_ms = 1000 if outcome in ("refused", "would_refuse") else 0
    answers = (WindowAnswer(window, window.limit - used, wait_ms, 1000),)
    return Decision(outcome != "refused", rule=rule, outcome=outcome, windows=answers, check=check, cause=cause)
