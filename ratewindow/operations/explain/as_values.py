"""An explanation as plain values, for JSON."""

from typing import Any

from ratewindow.identity import shown
from ratewindow.operations.explain import in_words, rule_in_words
from ratewindow.operations.explain.explanation import Explanation, Line
from ratewindow.operations.explain.rule_in_words import capacity
from ratewindow.reporting.codes import Refusal


def of(found: Explanation) -> dict[str, Any]:
    refused = found.refused if not found.passes else None
    return {
        "method": found.method,
        "path": found.path,
        "route": found.route,
        "at": found.at.isoformat(),
        "limits_on": not found.is_off,
        "passes": found.passes,
        "rule": refused.rule if refused is not None else "",
        "reason": refused.reason if refused is not None else "",
        "retry_after": refused.retry_after if refused is not None else None,
        "answer": in_words.answer(found),
        "with_shadow": {
            "passes": found.with_shadow is None,
            "rule": found.with_shadow.rule if found.with_shadow is not None else "",
        },
        "redis": found.away or "ok",
        "overrides": [
            {"action": ruling.action, "rule": ruling.rule, "pk": ruling.pk, "until": _iso(row.expires_at if row else None)}
            for ruling, row in found.overrides
        ],
        "rules": [_line(line) for line in found.lines],
    }


def of_refusal(refusal: Refusal) -> dict[str, Any]:
    return {"code": refusal.code, "at": refusal.at_s, "route": refusal.route, "by": [each._asdict() for each in refusal.by]}


def _line(line: Line) -> dict[str, Any]:
    return {
        "rule": line.rule.name,
        "mode": line.mode,
        "in_code": line.in_code,
        "effect": str(line.effect),
        "why": rule_in_words.why(line),
        "identity": shown(line.identity) if line.identity else "",
        "windows": [
            {
                "window": each.window.text,
                "used": max(0, capacity(each) - each.remaining),
                "limit": capacity(each),
                "remaining": each.remaining,
                "free_in": each.wait_ms / 1000 if each.wait_ms >= 0 else None,
                "next_free_in": each.reset_ms / 1000,
            }
            for each in line.windows
        ],
    }


def _iso(moment: Any) -> str | None:
    return moment.isoformat() if moment is not None else None
