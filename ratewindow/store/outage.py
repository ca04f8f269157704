"""What this process knows of failures of the store: its breaker, decisions that got no answer, and known refusals."""

import logging
import time
from collections.abc import Sequence

from ratewindow.limiter.redis import faults
from ratewindow.limiter.refusals import Refusals
from ratewindow.limiter.types import Check
from ratewindow.store import stores
from ratewindow.store.breaker import Breaker, State
from ratewindow.store.failures import FEW, RecentFailures

logger = logging.getLogger("ratewindow")

LOGGED_AGAIN_S = 60.0  # a fault that was away for so long is news when it comes back
MOST_LOGGED = 100

breaker = Breaker(stores.probe, lambda: "requests pass uncounted")
failures = RecentFailures()
refusals = Refusals()
_logged: dict[str, float] = {}  # when each kind of fault was met last


def report(error: Exception) -> bool:
    """Report a call that failed to its breaker; whether the server is down by now, which the breaker has logged."""
    if isinstance(error, faults.ServerAway):  # one of a cluster, whose own breaker has it already
        return stores.shards.away(error.server) is not None
    if faults.of(error).concerns is faults.Concerns.SERVER:
        breaker.failed(error)
    return breaker.open


def report_decision(error: Exception, checks: Sequence[Check]) -> None:
    """`report` for a decision: counted and logged here unless the server is down."""
    if report(error):
        return
    fault = faults.of(error)
    rules = ", ".join(sorted({check.rule for check in checks}))[:100]
    count = failures.add(f"store:{fault.name}", rules, len(checks))
    if fault.concerns is not faults.Concerns.SERVER:
        _log(fault, error, str(error)[:60])
    elif count >= FEW:
        _log(fault, error, rules)


def _log(fault: faults.Fault, error: Exception, about: str) -> None:
    """Redis works, but refuses this: a wrong type under our key, a right that a rule needs, an error in the script or in
    what calls it."""
    kind, now_s = f"{fault.name} {about}", time.monotonic()
    last_s = _logged.pop(kind, None)
    if last_s is None and len(_logged) >= MOST_LOGGED:
        del _logged[next(iter(_logged))]
    _logged[kind] = now_s
    if last_s is not None and now_s - last_s <= LOGGED_AGAIN_S:
        return
    is_internal, holds = fault.name == "internal", breaker.holds()
    if fault.concerns is faults.Concerns.SERVER:
        message = f"{type(error).__name__}: {error}"
        logger.error("ratewindow: some decisions about %s fail (%s), %s (logged once): %s", about, fault.name, holds, message)
    else:
        what = _PREVENTS.get(fault.name, "Redis refuses a decision")
        logger.error("ratewindow: %s, %s (logged once): %s", what, holds, error, exc_info=is_internal)


_PREVENTS = {
    "internal": "an internal error prevents a decision",
    "toomany": "too many limits for one decision: those in shadow are left out, and if that is not enough",
}


def open_breakers() -> list[State]:
    """One, or on a cluster one for each server that is down."""
    return [each for each in (breaker.state, *stores.shards.states) if each.open]


def is_known() -> bool:
    """Whether a server is down, which its breaker has logged."""
    return bool(open_breakers())


def forget_failures(_: State) -> None:
    """A breaker has opened or closed: decisions failed by its outage."""
    failures.clear()


def reset() -> None:
    """Forget it all: the server is another one now."""
    breaker.reset()
    stores.shards.reset()
    failures.clear()
    refusals.forget()
    _logged.clear()
