"""Headers of limits: written for decisions that are made up, and read by a parser that is not ours."""

from typing import Any

import http_sfv
from django.conf import settings
from django.http import HttpResponse
from django.test import override_settings

from ratewindow import conf
from ratewindow.limiter.types import Check, Decision, RuleDecision, Window, WindowAnswer
from ratewindow.request import headers

Policies = dict[str, dict[str, Any]]
MINUTE, DAY = Window(100, 60_000), Window(5000, 86_400_000)


def parsed(text: str) -> Policies:
    """A list of strings with parameters, by name; every name is there once."""
    members = http_sfv.List()
    members.parse(text.encode("ascii"))
    found = {member.value: dict(member.params) for member in members}
    assert len(found) == len(members)
    assert all(isinstance(name, str) for name in found)
    assert all(type(number) is int for parameters in found.values() for number in parameters.values())
    return found


def told(response: HttpResponse) -> tuple[Policies, Policies]:
    return parsed(response["RateLimit-Policy"]), parsed(response["RateLimit"])


def written(*parts: Decision) -> HttpResponse:
    response = HttpResponse()
    headers.write(response, Decision.of(parts), conf.current().headers)
    return response


def passed(rule: str, *answers: WindowAnswer, **changed: Any) -> Decision:
    window, remaining, _, reset_ms, _ = answers[0]
    return RuleDecision(
        **{
            "rule": rule,
            "limit": window.limit,
            "remaining": remaining,
            "reset_after": reset_ms / 1000,
            "windows": answers,
            "check": Check(rule, tuple(answer.window for answer in answers), ("",) * len(answers)),
            "at_s": 1_750_000_000.25,
            **changed,
        }
    )


def of_families(decision: Decision, *families: str) -> dict[str, str]:
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "HEADERS": families}):
        return {name: value for name, value in written(*decision.decisions).items() if "RateLimit" in name}
