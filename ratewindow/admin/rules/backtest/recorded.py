"""What the site has recorded of a rule, in the place of a log: what each limit catches, and what the present one did."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest

from ratewindow.admin.rules import recording
from ratewindow.admin.rules.backtest import making
from ratewindow.admin.rules.recording_figures import figures
from ratewindow.limiter.types import Window
from ratewindow.models import RateRule, Recording
from ratewindow.operations import recorded_peaks
from ratewindow.operations.backtest import evidence
from ratewindow.operations.recorded_peaks import Found
from ratewindow.rulebook.rule_rows import freeze


@dataclass(frozen=True)
class Recorded:
    """A rule with its newest recording that has hours, and the limit that is recorded."""

    rule: RateRule
    recording: Recording
    window: Window
    found: Found


def context(model_admin: Any, request: HttpRequest, source: Recorded) -> Mapping[str, Any]:
    """What the template shows, and what its buttons send."""
    rule, found = source.rule, source.found
    period, make = recorded_peaks.of_period(found, source.window), None
    with suppress(ValueError):  # an invalid row, written by raw SQL
        until = source.recording.since + found.span
        kept = evidence.of_recording(source.recording, until, period, found.requests, found.share)
        make = making.offer(model_admin, request, freeze(rule), rule.name, [period], kept)
    shown = figures(request, rule, found, period)
    return {
        "recorded": {
            "rule": rule,
            "state": recording.state(source.recording, source.window),
            "figures": shown,
            "is_loud": bool(found.refused),
        },
        "curves": [shown.curve],
        "make": make,
    }
