"""Why a rule has its limits, or others are tried beside them: what a backtest found, in the boxes on top of the rule's page."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from django.http import HttpRequest
from django.utils.translation import gettext, ngettext

from ratewindow.admin.curve import ShownCurve, shown
from ratewindow.admin.rules import signed_results
from ratewindow.admin.wording import local_time
from ratewindow.conf.in_words import duration
from ratewindow.limiter.rates import parse_rates
from ratewindow.limiter.types import Window
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
    if (found := signed_results.sent(request, FIELD)) is not None:
        evidence.keep(rule, found["evidence"], [row.freeze() for row in rule.windows.all()])


def keep_of_candidate(request: HttpRequest, rule: RateRule, windows: Iterable[Window]) -> None:
    """Save what a backtest has sent with limits to try; limits that were typed at the rule have no evidence."""
    if (found := signed_results.sent(request)) is not None:
        evidence.keep(rule, found["evidence"], windows, is_candidate=True)


def box(request: HttpRequest, rule: RateRule) -> Shown | None:
    """The evidence of a rule, in sentences and curves."""
    found = evidence.of_rule(rule)
    return _shown(request, rule, found) if found is not None else None


def box_of_candidate(request: HttpRequest, rule: RateRule, windows: Iterable[Window]) -> Shown | None:
    """That of the limits which are tried beside the rule's."""
    found = evidence.of_candidate(rule, windows)
    return _shown(request, rule, found) if found is not None else None


def _shown(request: HttpRequest, rule: RateRule, found: Evidence) -> Shown:
    try:
        limits = {window.period_ms: window.limit for row in rule.windows.all() for window in [row.freeze()]}
        picked = _picked(found)
        reasons = [said for each in found.periods for said in (_did(each, picked.get(each["period_ms"])), _reason(each)) if said]
        curves = []
        for each in found.periods:
            curve = shown(
                request,
                evidence.curve(each),
                suggestion=evidence.suggestion(each),
                now=limits.get(each["period_ms"]),
                picked=picked.get(each["period_ms"]),
            )
            prefix = "rw-candidate" if found.is_candidate else "rw-evidence"
            curves.append(replace(curve, id=f"{prefix}-{each['period_ms']}", reason=""))  # which stands above it already
    except (KeyError, TypeError, ValueError, IndexError):  # written by raw SQL
        return Shown(_sentence(found), [], [])
    return Shown(_sentence(found), [*dict.fromkeys(reasons)], curves)  # several periods may lack a suggestion for one reason


def _picked(found: Evidence) -> dict[int, int]:
    """The limits that were chosen, by their periods; none of a text that is no rates, or was cut."""
    with suppress(ValueError):
        return {window.period_ms: window.limit for window in parse_rates(found.chosen)}
    return {}


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
        "at": local_time(found.at),
        "log": found.log,
        "requests": number(found.requests),
        "clients": number(found.clients),
        "from": local_time(found.first),
        "to": local_time(found.last),
    }


def _did(period: Mapping[str, Any], picked: int | None) -> str:
    """What the limit that was chosen does there; empty if the kept curve has no point of it."""
    curve = evidence.curve(period)
    if picked is None or (point := curve.at(picked)).limit != picked:
        return ""
    text = gettext("There %(limit)s in %(period)s catches %(caught)s of %(clients)s clients.")
    if point.refused is not None:
        text = gettext(
            "There %(limit)s in %(period)s catches %(caught)s of %(clients)s clients, and refuses %(refused)s of %(requests)s "
            "requests."
        )
    return text % {
        "limit": number(picked),
        "period": duration(curve.period_ms),
        "caught": number(point.caught),
        "clients": number(curve.clients),
        "refused": number(point.refused or 0),
        "requests": number(curve.requests),
    }


def _reason(period: Mapping[str, Any]) -> str:
    found = evidence.suggestion(period)
    text = gettext("No limit was suggested. %(reason)s") if found.limit is None else gettext("Suggested was %(rate)s. %(reason)s")
    said = text % {"rate": found.rate, "reason": reason(found)}
    if period.get("share", 1) > 1:
        said += " " + gettext("These figures are of one of %s of all clients.") % number(period["share"])
    return said
