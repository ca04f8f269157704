"""Decisions and counts made by hand."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import transaction

from ratewindow.counting import minutes
from ratewindow.counting.collecting import add_sums, add_who
from ratewindow.counting.sums import Sums, Who
from ratewindow.limiter.types import Decision, RuleDecision
from ratewindow.models.stats import Resolution

NOW_S = 1_800_000_000.0  # a full minute: 15 January 2027, 08:00 UTC
NOW_MINUTE = int(NOW_S) // 60


def decision(rule: str, outcome: str = "passed", reason: str = "") -> Decision:
    return RuleDecision(outcome != "refused", rule=rule, outcome=outcome, reason=reason)


def sent(ago: int, counts: Mapping[str, Sums], process: str = "p1", now_s: float = NOW_S) -> None:
    """What a process sent of the minute `ago` minutes before now."""
    minutes.send({NOW_MINUTE - ago: {f"{process}|{rule}": sums for rule, sums in counts.items()}}, now_s)


def add_rows(resolution: Resolution, parts: Mapping[tuple[datetime, str], Any]) -> None:
    """Sums, or who was refused, as rows of that resolution alone."""
    with transaction.atomic():
        for add, kind in ((add_sums, Sums), (add_who, Who)):
            if mine := {key: value for key, value in parts.items() if isinstance(value, kind)}:
                add(resolution, mine)
