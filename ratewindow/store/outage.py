"""What this process knows of failures of the store: its breaker, decisions that got no answer, and known refusals."""

import logging
import time
from collections import Counter, deque
from collections.abc import Sequence

from ratewindow.conf.news import News
from ratewindow.limiter.redis import faults
from ratewindow.limiter.reply import Refusals
from ratewindow.limiter.types import Check
from ratewindow.store import stores
from ratewindow.store.breaker import Breaker, State

logger = logging.getLogger("ratewindow")

MINUTE_S = 60.0
MOST_FAILURES = 10_000  # that are remembered
FEW = 3  # of one kind in a minute are worth a log line

breaker = Breaker(stores.probe, lambda: "requests pass uncounted")
_failures: deque[tuple[float, str, str]] = deque(maxlen=MOST_FAILURES)  # when, why, and of which rules
refusals = Refusals()
_news = News()  # why, and of which rules


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
    kind = f"store:{fault.name}", rules
    _failures.extend([(time.monotonic(), *kind)] * len(checks))
    may_pass = fault.concerns is faults.Concerns.SERVER  # a slow answer; else Redis works, but refuses this each time
    if (may_pass and _failures_of_last_minute().count(kind) < FEW) or not _news.is_new(kind):
        return
    logger.error(
        "ratewindow: some decisions about %s fail (%s), %s (logged every ten minutes): %s",
        rules,
        fault.name,
        breaker.holds(),
        f"{type(error).__name__}: {error}",
        exc_info=fault.name == "internal",
    )


def _failures_of_last_minute() -> list[tuple[str, str]]:
    since_s = time.monotonic() - MINUTE_S
    return [(cause, rules) for at_s, cause, rules in _failures.copy() if at_s >= since_s]


def failures_by_cause() -> dict[str, int]:
    """Decisions of the last minute that got no answer though the server is not down."""
    return dict(Counter(cause for cause, _ in _failures_of_last_minute()))


def open_breakers() -> list[State]:
    """Those of the servers that are down, which they have logged: of one, or on a cluster of each."""
    return [each for each in (breaker.state, *stores.shards.states) if each.open]


def forget_failures(_: State) -> None:
    """A breaker has opened or closed: decisions failed by its outage."""
    _failures.clear()


def reset() -> None:
    """Forget it all: the server is another one now."""
    breaker.reset()
    stores.shards.reset()
    _failures.clear()
    refusals.forget()
    _news.forget()
