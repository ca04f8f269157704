"""A refusal as problem details of RFC 9457, of the types that the rate limit headers' draft registers."""

from collections.abc import Sequence
from typing import Any

from ratewindow.limiter.types import Decision

TYPES = "https://iana.org/assignments/http-problem-types"
OURS = ("store", "function")  # reasons of a refusal that is not the client's fault
ABNORMAL = ("penalty", "block")


def problem(reason: str, status: int, title: str, detail: str, violated: Sequence[str]) -> dict[str, Any]:
    """The members of the JSON object, without `code`, which is ours, for support."""
    members: dict[str, Any] = {"type": f"{TYPES}#{_type(reason)}", "title": title, "status": status, "detail": detail}
    if violated and reason not in (*OURS, "block"):  # else no policy is violated
        members["violated-policies"] = [*violated]
    return members


def violated_policies(decision: Decision) -> list[str]:
    """The names, as in the headers, of what refused: of a rule with several windows, those that are full."""
    named = [
        part.rule if len(part.windows) == 1 else f"{part.rule}:{answer.window.text}"
        for part in decision.decisions
        if not part.allowed
        for answer in part.windows
        if answer.refuses
    ]
    return named or ([decision.rule] if decision.rule else [])


def _type(reason: str) -> str:
    if reason in OURS:
        return "temporary-reduced-capacity"
    return "abnormal-usage-detected" if reason in ABNORMAL else "quota-exceeded"
