"""A result as plain values, for JSON."""

from datetime import UTC, datetime
from typing import Any

from ratewindow.operations.backtest import curve_json
from ratewindow.operations.backtest.notes import Note
from ratewindow.operations.backtest.result import Bounds, Caught, Numbers, OfLog, OfRule, Result


def of(found: Result) -> dict[str, Any]:
    return {
        **of_numbers(found.total),
        **(_unknown(found.reason) if found.reason else {}),
        "log": _log(found.log),
        "rules": [_rule(each) for each in found.rules],
        "caught": [_caught(each) for each in found.caught],
        "never": {client: bounds(refused) for client, refused in found.never.items()},
        "notes": [str(note) for note in found.notes],
    }


def _unknown(reason: Note) -> dict[str, Any]:
    return {**dict.fromkeys(("refused", "would_refuse", "clients_refused")), "reason": str(reason)}


def of_periods(result: Result) -> dict[str, Any]:
    """The suggestion for all limits of a rule together, or None if one of them has none, with its reason; and the curves."""
    periods = result.periods
    found = [curve_json.of_suggestion(each.suggestion) for each in periods]
    missing = next((each for each in found if each["suggestion"] is None), None)
    if not found:
        together: dict[str, Any] = {"suggestion": None, "reason": _why_no_curve(result)}
    elif missing is not None or len(found) == 1:
        together = missing or found[0]
    else:
        rates = "; ".join(each["suggestion"]["rate"] for each in found)
        reason = " ".join(each["reason"] for each in found)
        stable = all(each["suggestion"]["stable"] for each in found)
        together = {"suggestion": {"rate": rates, "reason": reason, "stable": stable}, "reason": reason}
    return together | {"suggestions": found, "curves": [curve_json.of_curve(each.curve) for each in periods]}


def _why_no_curve(result: Result) -> str:
    told = next((note for note in result.notes if note.kind == "too_many"), result.reason)
    return str(told or "The log has no request.")


def bounds(found: Bounds) -> int | list[int]:
    """A number, or the least and the most."""
    return [found.least, found.most] if found.is_open else found.least


def of_numbers(found: Numbers) -> dict[str, Any]:
    return {
        "requests": found.requests,
        "clients": found.clients,
        "refused": bounds(found.refused),
        "would_refuse": bounds(found.would_refuse),
        "clients_refused": bounds(found.clients_refused),
    }


def _log(log: OfLog) -> dict[str, Any]:
    return {
        "format": log.format,
        "requests": log.requests,
        "unreadable": log.unreadable,
        "unreadable_lines": [str(each) for each in log.examples],
        "out_of_order": log.out_of_order,
        "from": _iso(log.first_s) if log.requests else None,
        "to": _iso(log.last_s) if log.requests else None,
        "whole_seconds": log.whole_seconds,
    }


def _rule(found: OfRule) -> dict[str, Any]:
    rule = found.rule
    return {
        "name": found.name,
        "mode": rule.mode if rule is not None else "enforce",
        "rate": found.rate,
        "algorithms": list(dict.fromkeys(window.algorithm for window in rule.windows)) if rule is not None else [],
        "key": rule.key if rule is not None else "",
        **of_numbers(found.numbers),
    }


def _caught(each: Caught) -> dict[str, Any]:
    return {
        "client": each.client,
        "name": each.name,
        "requests": each.requests,
        "refused": bounds(each.refused),
        "paths": dict(each.did.paths),
        "statuses": {str(status): count for status, count in each.did.statuses.items()},
        "agents": dict(each.did.agents),
    }


def _iso(at_s: float) -> str:
    return datetime.fromtimestamp(at_s, UTC).isoformat()
