"""What a recording has found, in sentences: how much of the traffic it is, what the limit did, and what it should be."""

from dataclasses import dataclass, replace

from django.http import HttpRequest
from django.utils.translation import gettext, ngettext

from ratewindow.admin import curve
from ratewindow.admin.curve import ShownCurve
from ratewindow.models import Mode, RateRule
from ratewindow.operations.backtest.result import OfPeriod
from ratewindow.operations.recorded_peaks import Found
from ratewindow.reporting.summary import number, percent


@dataclass(frozen=True)
class Figures:
    """The sentences, and the curve with the suggestion."""

    seen: str
    did: str
    curve: ShownCurve


def figures(request: HttpRequest, rule: RateRule, found: Found, period: OfPeriod) -> Figures:
    [shown] = curve.of_periods(request, [period])
    return Figures(_seen(found), _did(rule, found), replace(shown, cautions=[*shown.cautions, *_caution(found)]))


def _seen(found: Found) -> str:
    clients = len(found.clients)
    values = {"clients": number(clients), "requests": number(found.requests), "share": number(found.share)}
    if found.share > 1:
        text = ngettext(
            "Recorded are %(requests)s requests of %(clients)s client, one of %(share)s of all, always the same ones: all "
            "figures here are of these.",
            "Recorded are %(requests)s requests of %(clients)s clients, one of %(share)s of all, always the same ones: all "
            "figures here are of these.",
            clients,
        )
    else:
        text = ngettext(
            "Recorded are %(requests)s requests of %(clients)s client.",
            "Recorded are %(requests)s requests of %(clients)s clients.",
            clients,
        )
    return text % values


def _did(rule: RateRule, found: Found) -> str:
    values = {
        "refused": number(found.refused),
        "share": percent(found.refused, found.requests),
        "clients": number(found.refused_clients),
        "innocent": number(found.refused_innocent),
    }
    enforced = rule.mode == Mode.ENFORCE
    if not found.refused:
        return gettext("The limit refused none of them.") if enforced else gettext("The limit would have refused none of them.")
    if enforced:
        text = ngettext(
            "The limit refused %(refused)s of them (%(share)s), of %(clients)s client, %(innocent)s likely innocent.",
            "The limit refused %(refused)s of them (%(share)s), of %(clients)s clients, %(innocent)s of these likely innocent.",
            found.refused_clients,
        )
    else:
        text = ngettext(
            "The limit would have refused %(refused)s of them (%(share)s), of %(clients)s client, %(innocent)s likely innocent.",
            "The limit would have refused %(refused)s of them (%(share)s), of %(clients)s clients, %(innocent)s of these likely "
            "innocent.",
            found.refused_clients,
        )
    return text % values


def _caution(found: Found) -> list[str]:
    if not found.refused:
        return []
    return [
        gettext(
            "Above the limit, a peak is an upper bound: what was refused within a period, added up over the processes, on top of "
            "what was used."
        )
    ]
