"""Why a rule has its limits: what the backtest found that it was made from, in the box on top of its page."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from django.core import signing
from django.http import HttpRequest
from django.utils.translation import gettext, ngettext

from ratewindow.admin.curve import ShownCurve, shown
from ratewindow.admin.rules.backtest.making import SALT, SENT_S
from ratewindow.admin.rules.backtest.result import clock
from ratewindow.models import Evidence, RateRule
from ratewindow.operations.backtest import evidence
from ratewindow.operations.backtest.suggestion_in_words import reason
from ratewindow.reporting.summary import number

FIELD = "evidence"  # in the form of a new rule


@dataclass(frozen=True)
class Shown:
    sentence: str
    reasons: list[str]
    curves: list[ShownCurve]


def sent(request: HttpRequest) -> str:
    """What the form of a new rule sends again while it has errors."""
    return request.POST.get(FIELD, "") if request.method == "POST" else ""


def keep(request: HttpRequest, rule: RateRule) -> None:
    """Save the evidence that the form of a new rule has sent; what this site has not signed is none."""
    try:
        found = signing.loads(sent(request), salt=SALT, max_age=SENT_S)
    except signing.BadSignature:
        return
    evidence.keep(rule, found["evidence"], [row.freeze() for row in rule.windows.all()])


def box(request: HttpRequest, rule: RateRule) -> Shown | None:
    """The newest evidence of a rule, in sentences and curves."""
    found = rule.evidence.first()
    if found is None:
        return None
    try:
        limits = {window.period_ms: window.limit for row in rule.windows.all() for window in [row.freeze()]}
        reasons = [_reason(each) for each in found.periods]
        curves = [_curve(request, each, limits.get(each["period_ms"])) for each in found.periods]
    except (KeyError, TypeError, ValueError, IndexError):  # written by raw SQL
        return Shown(_sentence(found), [], [])
    return Shown(_sentence(found), reasons, curves)


def _sentence(found: Evidence) -> str:
    if found.format == evidence.RECORDED:
        message = ngettext(
            "%(who)s chose %(chosen)s on %(at)s, by what was recorded of the rule %(log)s: from %(from)s to %(to)s, %(requests)s "
            "requests of %(clients)s client.",
            "%(who)s chose %(chosen)s on %(at)s, by what was recorded of the rule %(log)s: from %(from)s to %(to)s, %(requests)s "
            "requests of %(clients)s clients.",
            found.clients,
        )
    else:
        message = ngettext(
            "%(who)s chose %(chosen)s on %(at)s, by a backtest of %(log)s: from %(from)s to %(to)s, %(requests)s requests of "
            "%(clients)s client.",
            "%(who)s chose %(chosen)s on %(at)s, by a backtest of %(log)s: from %(from)s to %(to)s, %(requests)s requests of "
            "%(clients)s clients.",
            found.clients,
        )
    return message % {
        "who": found.by or gettext("Somebody"),
        "chosen": found.chosen,
        "at": clock(found.at),
        "log": found.log,
        "requests": number(found.requests),
        "clients": number(found.clients),
        "from": clock(found.first),
        "to": clock(found.last),
    }


def _reason(period: Mapping[str, Any]) -> str:
    found = evidence.suggestion(period)
    text = gettext("No limit was suggested. %(reason)s") if found.limit is None else gettext("Suggested was %(rate)s. %(reason)s")
    said = text % {"rate": found.rate, "reason": reason(found)}
    if period.get("share", 1) > 1:
        said += " " + gettext("These figures are of one of %s of all clients.") % number(period["share"])
    return said


def _curve(request: HttpRequest, period: Mapping[str, Any], now: int | None) -> ShownCurve:
    """The reason stands above it already."""
    found = shown(request, evidence.curve(period), suggestion=evidence.suggestion(period), now=now)
    return replace(found, id=f"rw-evidence-{period['period_ms']}", reason="")
