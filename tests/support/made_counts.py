"""Decisions and counts made by hand."""

from collections.abc import Mapping

from ratewindow.limiter.types import Decision
from ratewindow.reporting import minutes
from ratewindow.reporting.sums import Sums

NOW_S = 1_800_000_000.0  # a full minute: 15 January 2027, 08:00 UTC
NOW_MINUTE = int(NOW_S) // 60


def decision(rule: str, outcome: str = "passed", reason: str = "") -> Decision:
    return Decision(outcome != "refused", rule=rule, outcome=outcome, reason=reason)


def sent(ago: int, counts: Mapping[str, Sums], process: str = "p1", now_s: float = NOW_S) -> None:
    """What a process sent of the minute `ago` minutes before now."""
    minutes.send({NOW_MINUTE - ago: {f"{process}|{rule}": sums for rule, sums in counts.items()}}, now_s)
