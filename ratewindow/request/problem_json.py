"""A refusal as problem details of RFC 9457, of the types that the rate limit headers' draft registers."""

from typing import Any

from ratewindow.limiter.types import Decision

TYPES = "https://iana.org/assignments/http-problem-types"
OURS = ("store", "function")  # reasons of a refusal that no client has deserved
ABNORMAL = ("penalty", "block")


def problem(decision: Decision, status: int, title: str, detail: str) -> dict[str, Any]:
    """The members of the JSON object; `code` is ours, for whoever asks for help."""
    told: dict[str, Any] = {"type": f"{TYPES}#{_type(decision.reason)}", "title": title, "status": status, "detail": detail}
    violated = violated_policies(decision)
    if violated and decision.reason not in (*OURS, "block"):  # else no policy is violated
        told["violated-policies"] = violated
    return {**told, "code": decision.id}


def violated_policies(decision: Decision) -> list[str]:
    """What refused, under the names that the headers have: of a rule with several windows, those that are full."""
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
