"""What a backtest has found, as its page shows it: the sentence first."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from ratewindow.admin.addresses import reverse
from ratewindow.admin.curve import of_periods
from ratewindow.admin.masking import display, may_see
from ratewindow.admin.wording import local_time
from ratewindow.conf.in_words import listed
from ratewindow.conf.translation import translated
from ratewindow.models import RateRule
from ratewindow.operations.backtest.evidence import moment
from ratewindow.operations.backtest.plan import Plan
from ratewindow.operations.backtest.result import Bounds, Caught, Numbers, OfLog, Result
from ratewindow.operations.backtest.tally import Details
from ratewindow.reporting.summary import number, percent

MOST_CAUGHT = 50  # clients that are listed
MODES = {"enforce": _("Enforce"), "shadow": _("Shadow"), "off": _("Off"), "code": _("In code")}


@dataclass(frozen=True)
class Decided:
    """A log that was sent, as the rules decided it. `is_cut`: only its first part was read."""

    name: str
    result: Result
    is_cut: bool


@dataclass(frozen=True)
class RuleRow:
    name: str
    url: str
    mode: str
    mode_label: str
    rate: str
    requests: str
    clients: str
    refused: str
    clients_refused: str


@dataclass(frozen=True)
class CaughtRow:
    client: str
    requests: str
    refused: str
    paths: Sequence[str]
    statuses: str
    agents: Sequence[str]


def context(request: HttpRequest, plan: Plan, decided: Sequence[Decided]) -> Mapping[str, Any]:
    """What the template shows of one log, or of two side by side."""
    first, *others = [each.result.periods for each in decided]
    names = {"name": gettext("this log"), "beside_name": gettext("the other log")}
    curves = of_periods(request, first, beside=others[0] if others else (), **names)
    logs = [_of_log(request, plan, each) for each in decided]
    for log in logs[1:]:
        log["notes"] = [note for note in log["notes"] if note not in logs[0]["notes"]]  # which says it of both
    return {"logs": logs, "curves": curves}


def _of_log(request: HttpRequest, plan: Plan, decided: Decided) -> dict[str, Any]:
    result = decided.result
    total, log = result.total, result.log
    caught = [_caught(request, each) for each in result.caught[:MOST_CAUGHT]]
    return {
        "name": _text(decided.name),
        "is_cut": decided.is_cut,
        "sentence": str(result.reason or (of_all(total) if plan.is_site else refusals(total))),
        "is_loud": bool(total.refused.most),
        "about": about(log),
        "unreadable": _unreadable(log),
        "examples": [_text(translated(each.problem)) for each in log.examples],
        "never": _never(request, result),
        "notes": [_text(str(note)) for note in result.notes],
        "rules": _rules(result),
        "caught": caught,
        "kept_after": number(Details.AFTER),
        "are_all": total.clients_refused.most <= len(caught),
    }


def refusals(found: Numbers) -> str:
    """What one rule would have refused."""
    if not found.requests:
        return gettext("It meets none of the requests.")
    if not found.refused.most:
        message = ngettext(
            "It would have refused nothing: it meets %(requests)s request, of %(clients)s clients.",
            "It would have refused nothing: it meets %(requests)s requests, of %(clients)s clients.",
            found.requests,
        )
        return message % {"requests": number(found.requests), "clients": number(found.clients)}
    message = ngettext(
        "It would have refused %(refused)s of the %(requests)s requests that it meets (%(share)s), of %(clients)s client.",
        "It would have refused %(refused)s of the %(requests)s requests that it meets (%(share)s), of %(clients)s clients.",
        found.clients_refused.most,
    )
    return message % _values(found, found.refused)


def of_all(found: Numbers) -> str:
    """What all rules together would have refused, and those in shadow would if they were enforced."""
    if not found.requests:
        return gettext("The rules meet none of the requests.")
    message = ngettext(
        "The rules would have refused %(refused)s of the %(requests)s requests that they meet (%(share)s), and those in shadow "
        "would refuse %(would)s more if they were enforced: of %(clients)s client.",
        "The rules would have refused %(refused)s of the %(requests)s requests that they meet (%(share)s), and those in shadow "
        "would refuse %(would)s more if they were enforced: of %(clients)s clients.",
        found.clients_refused.most,
    )
    return message % {**_values(found, found.refused), "would": said(found.would_refuse)}


def _values(found: Numbers, refused: Bounds) -> dict[str, str]:
    return {
        "refused": said(refused),
        "requests": number(found.requests),
        "share": percent(refused.most, found.requests),
        "clients": said(found.clients_refused),
    }


def said(found: Bounds) -> str:
    """``4,211``, or ``between 4,180 and 4,211``."""
    if not found.is_open:
        return number(found.least)
    return gettext("between %(least)s and %(most)s") % {"least": number(found.least), "most": number(found.most)}


def about(log: OfLog) -> str:
    """What the log is."""
    if not log.requests:
        return gettext("The log has no requests.")
    values = {
        "requests": number(log.requests),
        "format": log.format,
        "from": local_time(moment(log.first_s)),
        "to": local_time(moment(log.last_s)),
    }
    message = ngettext(
        "The log has %(requests)s request, from %(from)s to %(to)s, in the format %(format)s.",
        "The log has %(requests)s requests, from %(from)s to %(to)s, in the format %(format)s.",
        log.requests,
    )
    return message % values


def _unreadable(log: OfLog) -> str:
    if not log.unreadable:
        return ""
    message = ngettext(
        "%(count)s line cannot be read, and is left out.", "%(count)s lines cannot be read, and are left out.", log.unreadable
    )
    return message % {"count": number(log.unreadable)}


def _never(request: HttpRequest, result: Result) -> str:
    if not result.never:
        return ""
    of_client = gettext("%(client)s (%(count)s)")
    clients = [of_client % {"client": display(request, who), "count": said(count)} for who, count in result.never.items()]
    return gettext("It would have refused clients who are never to be refused: %s.") % listed(clients)


def _rules(result: Result) -> list[RuleRow]:
    stored = dict(RateRule.objects.values_list("name", "pk"))
    rows = []
    for each in result.rules:
        mode = each.rule.mode if each.rule is not None else "enforce"
        pk, found = stored.get(each.name), each.numbers
        refused = Bounds(found.refused.least + found.would_refuse.least, found.refused.most + found.would_refuse.most)
        rows.append(
            RuleRow(
                each.name,
                reverse("admin:ratewindow_raterule_change", args=[pk]) if pk is not None else "",
                mode,
                str(MODES[mode]),
                each.rate,
                number(found.requests),
                number(found.clients),
                said(refused),
                said(found.clients_refused),
            )
        )
    return rows


def _caught(request: HttpRequest, each: Caught) -> CaughtRow:
    did = each.did
    return CaughtRow(
        _text(each.name) if each.name and may_see(request) else display(request, each.client),
        number(each.requests),
        said(each.refused),
        [_text(f"{path} ×{number(count)}") for path, count in did.paths.items()],
        listed(f"{status} ×{number(count)}" for status, count in did.statuses.items()),
        [_text(agent) for agent in did.agents],
    )


def _text(text: str) -> str:
    """What can be sent as a page, whatever bytes a log has."""
    return text.encode("utf-8", "backslashreplace").decode()
