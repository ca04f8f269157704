"""Why a rule or its candidate has these limits, by a backtest: plain values that travel to the browser and back, and the row."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from ratewindow.conf import time_zone
from ratewindow.limiter.types import Window
from ratewindow.models import Evidence, RateRule, Recording, origin
from ratewindow.models.evidence import MOST_FORMAT, MOST_NAME, MOST_RATES
from ratewindow.operations.backtest.curve import Curve, Point
from ratewindow.operations.backtest.result import OfPeriod, Result
from ratewindow.operations.backtest.suggestion import Basis, Halves, Suggestion

MOST_POINTS = 100  # of a curve
RECORDED = "recording"  # in the place of a log's format: `log` is the rule that was recorded


def of(log: str, found: Result) -> dict[str, Any]:
    """What is kept of a result: no client."""
    return {
        "log": _text(log)[:MOST_NAME],
        "format": _text(found.log.format)[:MOST_FORMAT],
        "first_s": found.log.first_s if found.log.requests else None,
        "last_s": found.log.last_s if found.log.requests else None,
        "requests": found.total.requests,
        "clients": found.total.clients,
        "periods": [_period(each) for each in found.periods],
    }


def of_recording(recording: Recording, until: datetime, period: OfPeriod, requests: int, share: int) -> dict[str, Any]:
    """The same of what the site has recorded of a rule until then: of one of `share` of its clients."""
    return {
        "log": recording.rule,
        "format": RECORDED,
        "first_s": recording.since.timestamp(),
        "last_s": until.timestamp(),
        "requests": requests,
        "clients": len(period.clients),
        "periods": [{**_period(period), "share": share}],
    }


def _period(found: OfPeriod) -> dict[str, Any]:
    curve, suggested = found.curve, found.suggestion.limit
    step = math.ceil(len(curve.points) / MOST_POINTS)
    points = [point for place, point in enumerate(curve.points) if not place % step or point.limit in (suggested, found.limit)]
    return {
        "period_ms": found.period_ms,
        "suggestion": asdict(found.suggestion),
        "clients": curve.clients,
        "innocent": curve.innocent,
        "requests": curve.requests,
        "points": [[each.limit, each.caught, each.innocent, each.refused, each.innocent_refused] for each in points],
    }


def suggestion(period: Mapping[str, Any]) -> Suggestion:
    """What was suggested for one of the `periods` of a row, or why nothing was."""
    kept = period["suggestion"]
    halves = Halves(**kept["halves"]) if kept["halves"] is not None else None
    return Suggestion(**{**kept, "basis": Basis(kept["basis"]), "halves": halves})


def curve(period: Mapping[str, Any]) -> Curve:
    """The curve of one of the `periods` of a row, without its clients."""
    points = tuple(Point(*values) for values in period["points"])
    return Curve(period["period_ms"], points, (), period["clients"], period["innocent"], period["requests"])


def keep(rule: RateRule, found: dict[str, Any], windows: Iterable[Window], is_candidate: bool = False) -> Evidence:
    """Save it with the limits that were chosen by it: those of the rule, or others that are tried beside them."""
    return Evidence.objects.create(
        rule=rule,
        log=found["log"],
        format=found["format"],
        first=moment(found["first_s"]),
        last=moment(found["last_s"]),
        requests=found["requests"],
        clients=found["clients"],
        chosen=_chosen(windows),
        periods=found["periods"],
        is_candidate=is_candidate,
        by=origin.current().by,
        at=time_zone.now(),
    )


def of_rule(rule: RateRule) -> Evidence | None:
    """The newest of the limits that the rule has, or once had."""
    return rule.evidence.filter(is_candidate=False).first()


def of_candidate(rule: RateRule, windows: Iterable[Window]) -> Evidence | None:
    """The newest of these limits beside the rule's."""
    return rule.evidence.filter(is_candidate=True, chosen=_chosen(windows)).first()


def candidate_applied(rule: RateRule, windows: Iterable[Window]) -> None:
    """Make the evidence of these limits that of the rule."""
    if found := of_candidate(rule, windows):
        found.is_candidate = False
        found.save(update_fields=["is_candidate"])


def _chosen(windows: Iterable[Window]) -> str:
    return "; ".join(window.text for window in windows)[:MOST_RATES]


def moment(at_s: float | None) -> datetime | None:
    """None for a time that no clock has."""
    try:
        return datetime.fromtimestamp(at_s, UTC) if at_s is not None else None
    except (OverflowError, OSError, ValueError):
        return None


def _text(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode().replace("\0", "")
