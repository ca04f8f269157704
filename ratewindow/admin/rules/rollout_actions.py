"""The actions of the list of rules: enforce, enforce for some clients, back to shadow, off; each asks with what it would do."""

from dataclasses import dataclass
from functools import partial
from typing import Any

from django.contrib import admin, messages
from django.contrib.admin import ModelAdmin
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from ratewindow.admin import confirm_page, own_page
from ratewindow.admin.addresses import reverse
from ratewindow.admin.rules import rollout, rollout_figures
from ratewindow.admin.rules.rollout_figures import Stage
from ratewindow.admin.wording import mode_in_words, sentence
from ratewindow.models import Mode, RateRule
from ratewindow.models.origin import MOST_REASON
from ratewindow.reporting.report import Report
from ratewindow.reporting.sums import NOTHING

MOST_WITH_CLIENTS = 10  # rules whose clients are counted, those that refuse most
SEEN = "rw_seen"  # the name of the hidden field that a confirmed action has
REPORT = "rw_report"  # that of the field with the query string of the report, if its button was pressed


@dataclass(frozen=True)
class Line:
    """One rule on the page that asks."""

    name: str
    mode: str
    mode_label: str
    sentence: str
    figures: str
    clients: str
    who_url: str


@admin.action(description=_("Enforce selected rules for all clients"), permissions=["enforce"])
def enforce(model_admin: "ModelAdmin[Any]", request: HttpRequest, rules: QuerySet[RateRule]) -> HttpResponse | None:
    return _act(model_admin, request, rules, rollout.ENFORCE)


@admin.action(description=_("Enforce selected rules for 10 %% of clients"), permissions=["enforce"])
def enforce_10(model_admin: "ModelAdmin[Any]", request: HttpRequest, rules: QuerySet[RateRule]) -> HttpResponse | None:
    return _act(model_admin, request, rules, Stage(Mode.ENFORCE.value, rollout.FIRST_PERCENT))


@admin.action(description=_("Put selected rules in shadow (count, refuse nobody)"), permissions=["change"])
def shadow(model_admin: "ModelAdmin[Any]", request: HttpRequest, rules: QuerySet[RateRule]) -> HttpResponse | None:
    return _act(model_admin, request, rules, rollout.SHADOW)


@admin.action(description=_("Switch selected rules off"), permissions=["change"])
def switch_off(model_admin: "ModelAdmin[Any]", request: HttpRequest, rules: QuerySet[RateRule]) -> HttpResponse | None:
    return _act(model_admin, request, rules, rollout.OFF)


ACTIONS = (enforce, enforce_10, shadow, switch_off)

_QUESTIONS = {
    "enforce": _("Enforce for all clients?"),
    "some": _("Enforce for 10 % of clients?"),
    "shadow": _("Put in shadow?"),
    "off": _("Switch off?"),
}
_BUTTONS = {"enforce": _("Enforce for all"), "some": _("Enforce for 10 %"), "shadow": _("Put in shadow"), "off": _("Switch off")}
_NOTES = {
    "enforce": _("Clients above the limit are refused from the next request on."),
    "some": _("Always the same tenth of the clients is refused above the limit. For the others the rules stay in shadow."),
    "shadow": _("The rules go on counting, and refuse nobody."),
    "off": _("The rules count nothing and refuse nobody."),
}


def _act(model_admin: "ModelAdmin[Any]", request: HttpRequest, rules: QuerySet[RateRule], to: Stage) -> HttpResponse | None:
    chosen = [rule for rule in rules.order_by("name") if Stage.of(rule) != to]
    if not chosen:
        messages.info(request, gettext("Nothing to change: all selected rules are already %s.") % to.words)
        return _back(request)
    if SEEN not in request.POST:
        return _page(model_admin, request, chosen, to)
    rollout.move(model_admin, request, {rule.pk: (Stage.of(rule), to) for rule in chosen})
    return _back(request)


def _back(request: HttpRequest) -> HttpResponse | None:
    """To the report, if the button is there; otherwise Django goes back to the list."""
    return HttpResponseRedirect(_report_url(request)) if REPORT in request.POST else None


def _report_url(request: HttpRequest) -> str:
    return f"{reverse('admin:ratewindow_report')}?{request.POST[REPORT]}"


def _refused(report: Report, rule: RateRule) -> int:
    """How many requests the rule has refused, or would have."""
    sums = report.rules.get(rule.name, NOTHING)
    return sums.refused if rule.mode == Mode.ENFORCE else sums.would_refuse


def _page(model_admin: "ModelAdmin[Any]", request: HttpRequest, chosen: list[RateRule], to: Stage) -> HttpResponse:
    kind = "some" if to.percent < 100 else to.mode
    report = rollout_figures.counts(request, rollout_figures.period())
    may_see = request.user.has_perm("ratewindow.view_throttlestat")
    refused = {rule.name: _refused(report, rule) for rule in chosen}
    shown = set(sorted(filter(refused.get, refused), key=lambda name: (-refused[name], name))[:MOST_WITH_CLIENTS])
    lines = [
        Line(
            rule.name,
            rule.mode,
            mode_in_words(rule),
            sentence(rule),
            rollout_figures.sentence(Stage.of(rule), report.rules.get(rule.name, NOTHING), report.live, report.period),
            rollout_figures.clients(request, Stage.of(rule), report.period, rule.name) if rule.name in shown else "",
            rollout.who_url(rule.name) if may_see and refused[rule.name] else "",
        )
        for rule in chosen
    ]
    questions = []
    if to.mode == Mode.ENFORCE:
        moving = partial(
            RateRule.objects.filter(pk__in=[rule.pk for rule in chosen]).update, mode=to.mode, enforce_percent=to.percent
        )
        questions = confirm_page.foreseen(request, moving)
    list_url = reverse("admin:ratewindow_raterule_changelist")
    context = {
        **own_page.context(model_admin, request, _QUESTIONS[kind]),
        "list_url": list_url,
        "cancel_url": _report_url(request) if REPORT in request.POST else list_url,
        "lines": lines,
        "note": _NOTES[kind],
        "button": _BUTTONS[kind],
        "post_data": [
            ("action", request.POST["action"]),
            *((ACTION_CHECKBOX_NAME, str(rule.pk)) for rule in chosen),
            (SEEN, "1"),
            *([(REPORT, request.POST[REPORT])] if REPORT in request.POST else []),
        ],
        "most_reason": MOST_REASON,
        **(confirm_page.lockout_context(request, questions) if questions else {}),
    }
    return TemplateResponse(request, "admin/ratewindow/raterule/rollout_confirmation.html", context)
