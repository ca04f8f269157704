"""Other limits beside a rule: the box that tries them in shadow, compares them with those that are enforced, and applies them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from django.contrib import messages
from django.contrib.admin import ModelAdmin
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import router, transaction
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.urls import URLPattern, path
from django.utils.html import format_html
from django.utils.translation import gettext

from ratewindow import conf
from ratewindow.admin.addresses import reverse
from ratewindow.admin.banner import glance
from ratewindow.admin.masking import display
from ratewindow.admin.post_button import post_button
from ratewindow.admin.rules import evidence
from ratewindow.admin.wording import limit_in_words
from ratewindow.conf import time_zone
from ratewindow.conf.translation import translated
from ratewindow.limiter.types import Window
from ratewindow.models import Mode, RateRule
from ratewindow.models.candidate import candidate_rows, candidate_windows
from ratewindow.models.origin import MOST_REASON
from ratewindow.operations.backtest.evidence import candidate_applied
from ratewindow.reporting.compared import line_name
from ratewindow.reporting.how_many import clients
from ratewindow.reporting.offenders import HowMany, Offenders, offenders
from ratewindow.reporting.periods import last
from ratewindow.reporting.report import report
from ratewindow.reporting.summary import number
from ratewindow.reporting.sums import NOTHING, Sums

PERIOD = "7d"  # of which the comparison is shown
MOST_CLIENTS = 10
MOST_DIGITS = 12


@dataclass(frozen=True)
class Limit:
    """One limit of the rule, in words, with what is typed for it."""

    field: str
    words: str
    limit: int


@dataclass(frozen=True)
class Client:
    who: str
    note: str
    more: str  # of its requests, those that only the candidate would refuse
    less: str  # and those that only the rule refuses


def urls(model_admin: "ModelAdmin[Any]") -> list[URLPattern]:
    view = model_admin.admin_site.admin_view(partial(press, model_admin))
    return [path("<int:pk>/candidate/", view, name="ratewindow_raterule_candidate")]


def box(model_admin: "ModelAdmin[Any]", request: HttpRequest, rule: RateRule) -> dict[str, Any] | None:
    """What ``candidate.html`` shows: limits to enter or, once some are tried, what they would change; None if there are none to
    try: of a rule that is not enforced for all clients, or counts refused requests."""
    may_change = model_admin.has_change_permission(request, rule)
    rows = list(rule.windows.all())
    context = {
        "url": reverse("admin:ratewindow_raterule_candidate", args=[rule.pk]) if may_change else "",
        "most_reason": MOST_REASON,
        "candidate": rule.candidate,
    }
    try:
        if rule.candidate:
            context["evidence"] = evidence.box_of_candidate(request, rule, _frozen(rule))
        if windows := candidate_windows(rule):
            return {**context, **_compared(request, rule, windows)}
        if rule.candidate:
            limits = [limit_in_words(row.freeze()) for row in candidate_rows(rule.candidate, rows)]
            return {**context, "limits": limits, "sentence": _not_tried(rule)}
        if not rows or not may_try(model_admin, request, rule):
            return None
        return {**context, "enter": [Limit(_field(row.pk), limit_in_words(row.freeze()), row.limit) for row in rows]}
    except ValueError:  # written by raw SQL
        return None


def may_try(model_admin: "ModelAdmin[Any]", request: HttpRequest, rule: RateRule) -> bool:
    """Whether other limits are judged beside the rule's, and this user may enter them."""
    is_judged = rule.mode == Mode.ENFORCE and rule.enforce_percent == 100 and not rule.count_refused
    return is_judged and model_admin.has_change_permission(request, rule)


def _field(pk: int) -> str:
    return f"limit-{pk}"


def _not_tried(rule: RateRule) -> str:
    if rule.count_refused:
        return gettext("They are not tried: the rule counts refused requests, too.")
    if rule.mode != Mode.ENFORCE or rule.enforce_percent != 100:
        return gettext("They are tried as soon as the rule is enforced for all clients.")
    return gettext("They are not tried: the rule has the same limits.")


def _compared(request: HttpRequest, rule: RateRule, windows: Sequence[Window]) -> dict[str, Any]:
    name = line_name(rule.name, windows)
    period = last(PERIOD, time_zone.now(), conf.current().retention)
    reachable = glance(request).reachable
    found = report(period, name, ask_redis=reachable)
    who = offenders(period, name, ask_redis=reachable, most=MOST_CLIENTS)
    listed = [
        Client(
            display(request, each.value),
            gettext("signed in") if each.signed_in else "",
            number(each.would_refuse),
            number(each.refused),
        )
        for each in (who.clients.most if request.user.has_perm("ratewindow.view_throttlestat") else ())
    ]
    sums = found.rules.get(name, NOTHING)
    return {
        "limits": [limit_in_words(window) for window in windows],
        "sentence": _sentence(sums, found.live),
        "more": _more(sums, who),
        "less": _less(sums, who),
        "clients": listed,
        "is_tried": True,
    }


def _sentence(sums: Sums, live: bool) -> str:
    if not sums.met:
        if not live:
            return gettext("Without Redis it is not known.")
        return gettext("No request has been judged by both yet, so what they would refuse is not known.")
    values = {"met": number(sums.met), "refused": number(sums.refused + sums.other), "would": number(_refused_by_candidate(sums))}
    return (
        gettext(
            "In the last 7 days both have judged %(met)s requests: the rule refused %(refused)s, and these limits would have "
            "refused %(would)s."
        )
        % values
    )


def _refused_by_candidate(sums: Sums) -> int:
    return sums.would_refuse + sums.other


def _more(sums: Sums, who: Offenders) -> str:
    """``Refused in addition: 12 (3 clients).``"""
    if not sums.would_refuse:
        return gettext("Nothing that passes would be refused.") if sums.met else ""
    return gettext("Refused in addition: %s.") % _of_clients(sums.would_refuse, who.would_refuse)


def _less(sums: Sums, who: Offenders) -> str:
    if not sums.refused:
        return gettext("Nothing that is refused would pass.") if sums.met else ""
    return gettext("No longer refused: %s.") % _of_clients(sums.refused, who.refused)


def _of_clients(count: int, many: HowMany) -> str:
    return gettext("%(count)s (%(clients)s)") % {"count": number(count), "clients": clients(many)} if many else number(count)


def press(model_admin: "ModelAdmin[Any]", request: HttpRequest, pk: int) -> HttpResponse:
    """The handler of the box's buttons."""
    rule = get_object_or_404(RateRule, pk=pk)
    if not model_admin.has_change_permission(request, rule):
        raise PermissionDenied
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    with transaction.atomic(using=router.db_for_write(RateRule)):
        rule = RateRule.objects.select_for_update().get(pk=pk)
        do = request.POST.get("do", "")
        if request.POST.get("seen", rule.candidate) != rule.candidate:
            messages.warning(
                request, gettext("Nothing is changed: meanwhile somebody else has changed these limits. Look again.")
            )
        elif do == "try":
            _try(model_admin, request, rule)
        elif do == "drop" and rule.candidate:
            _drop(model_admin, request, rule)
        elif do == "apply" and rule.candidate:
            _apply(model_admin, request, rule)
        else:
            messages.error(request, gettext("%r is nothing to do with these limits. Use the buttons.") % do[:20])
    return HttpResponseRedirect(reverse("admin:ratewindow_raterule_change", args=[pk]))


def _try(model_admin: "ModelAdmin[Any]", request: HttpRequest, rule: RateRule) -> None:
    try:
        rule.candidate = _sent(request, rule)
        rows = candidate_rows(rule.candidate, rule.windows.all())
        rule.full_clean()
        if [row.freeze() for row in rows] == [row.freeze() for row in rule.windows.all()]:
            raise ValueError(gettext("Enter another number than the rule has: these are its limits already."))
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
        return
    except ValueError as error:
        messages.error(request, translated(error))
        return
    _save(model_admin, request, rule)
    evidence.keep_of_candidate(request, rule, _frozen(rule))
    messages.success(
        request,
        gettext("Tried in shadow, beside the limits that are enforced: %s. Nobody is refused by them.")
        % "; ".join(limit_in_words(window) for window in candidate_windows(rule) or _frozen(rule)),
    )


def _frozen(rule: RateRule) -> list[Window]:
    return [row.freeze() for row in candidate_rows(rule.candidate, rule.windows.all())]


def _sent(request: HttpRequest, rule: RateRule) -> str:
    """The limits to try: as the button Undo sends them, as a backtest does, or as they are typed here. Raises ValueError."""
    if "candidate" in request.POST:
        return request.POST["candidate"]
    if "rates" in request.POST:
        return "; ".join(text.strip() for text in request.POST.getlist("rates") if text.strip())
    return _typed(request, rule)


def _typed(request: HttpRequest, rule: RateRule) -> str:
    """The limits that differ, as rates. Raises ValueError."""
    rates = []
    for row in rule.windows.all():
        window, text = row.freeze(), request.POST.get(_field(row.pk), "").strip()
        if not (text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS):
            problem = gettext("%(text)r is not a limit: enter a whole number, such as %(limit)d.")
            raise ValueError(problem % {"text": text[:20], "limit": 2 * row.limit})
        if int(text) != row.limit:
            rates.append(replace(window, limit=int(text), burst=row.burst).text)
    return "; ".join(rates)


def _drop(model_admin: "ModelAdmin[Any]", request: HttpRequest, rule: RateRule) -> None:
    dropped, rule.candidate = rule.candidate, ""
    _save(model_admin, request, rule)
    url = reverse("admin:ratewindow_raterule_candidate", args=[rule.pk])
    fields = {"do": "try", "candidate": dropped, "seen": "", "reason": gettext("Undone")}
    text = gettext("%s is no longer tried. The limits that are enforced stay as they are.") % dropped
    messages.success(request, format_html("{} {}", text, post_button(request, url, gettext("Undo"), fields)))


def _apply(model_admin: "ModelAdmin[Any]", request: HttpRequest, rule: RateRule) -> None:
    """Let the candidate be the rule's limits."""
    rows = candidate_rows(rule.candidate, rule.windows.all())
    for row in rows:
        row.rule = rule
        row.full_clean()
        row.save()
    candidate_applied(rule, [row.freeze() for row in rows])
    rule.candidate = ""
    _save(model_admin, request, rule)
    enforced = "; ".join(limit_in_words(row.freeze()) for row in rows)
    history = reverse("admin:ratewindow_raterule_history", args=[rule.pk])
    text = gettext("Now enforced: %s. The limits until now can be restored from the history.") % enforced
    messages.success(request, format_html('{} <a href="{}">{}</a>', text, history, gettext("History")))


def _save(model_admin: "ModelAdmin[Any]", request: HttpRequest, rule: RateRule) -> None:
    rule.save(update_fields=["candidate"])
    model_admin.log_change(request, rule, [{"changed": {"fields": ["Limits to try"]}}])
