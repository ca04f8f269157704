"""Curves and suggestions as plain values, for JSON."""

from collections.abc import Callable
from typing import Any

from ratewindow.limiter.durations import format_duration
from ratewindow.operations.backtest.curve import Curve, Point
from ratewindow.operations.backtest.peaks import ClientPeak
from ratewindow.operations.backtest.samples import Sample
from ratewindow.operations.backtest.suggestion import Suggestion
from ratewindow.operations.backtest.suggestion_in_words import cautions, reason


def of_curve(curve: Curve, named: Callable[[str], str] = str) -> dict[str, Any]:
    """`named` is what an identity is shown as."""
    return {
        "period": format_duration(curve.period_ms),
        "clients": curve.clients,
        "likely_innocent": curve.innocent,
        "requests": curve.requests,
        "limits": [_point(point) for point in curve.points],
        "highest": [_client(client, named) for client in curve.highest],
    }


def of_suggestion(suggestion: Suggestion) -> dict[str, Any]:
    """``suggestion``, None if there is no number, and its ``reason``."""
    why = reason(suggestion)
    if suggestion.limit is None:
        return {"suggestion": None, "reason": why}
    halves = suggestion.halves
    found = {
        "rate": suggestion.rate,
        "limit": suggestion.limit,
        "period": format_duration(suggestion.period_ms),
        "reason": why,
        "basis": str(suggestion.basis),
        "stable": suggestion.stable,
        "halves": [halves.first, halves.second] if halves is not None else None,
        "ordinary": suggestion.ordinary,
        "clients_caught": suggestion.caught,
        "likely_innocent_caught": suggestion.innocent_caught,
        "cautions": cautions(suggestion),
    }
    return {"suggestion": found, "reason": why}


def _sample(sample: Sample) -> dict[str, Any]:
    statuses = {str(status): count for status, count in sample.statuses.items()}
    return {"paths": dict(sample.paths), "statuses": statuses, "agents": dict(sample.agents)}


def _point(point: Point) -> dict[str, Any]:
    return {
        "limit": point.limit,
        "clients_caught": point.caught,
        "likely_innocent_caught": point.innocent,
        "requests_refused": point.refused,
        "likely_innocent_refused": point.innocent_refused,
    }


def _client(client: ClientPeak, named: Callable[[str], str]) -> dict[str, Any]:
    return {
        "client": named(client.client),
        "peak": client.peak,
        "requests": client.requests,
        "likely_innocent": client.likely_innocent,
        "peak_of_halves": [client.first_half, client.second_half],
        **(_sample(client.did) if client.did is not None else {}),
    }
