"""From shadow to enforce: the box on top of a rule's page, and its buttons, each with an undo in its message."""

from collections.abc import Mapping
from functools import partial
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.admin import ModelAdmin
from django.core import signing
from django.core.exceptions import PermissionDenied
from django.db import router, transaction
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.urls import URLPattern, path
from django.utils.html import format_html
from django.utils.translation import gettext

from ratewindow.admin.addresses import reverse
from ratewindow.admin.post_button import post_button
from ratewindow.admin.rights import may_enforce
from ratewindow.admin.rules import rollout_figures
from ratewindow.admin.rules.rollout_figures import Stage
from ratewindow.conf.in_words import some_of
from ratewindow.models import Mode, RateRule
from ratewindow.models.origin import MOST_REASON
from ratewindow.reporting.sums import NOTHING

FIRST_PERCENT = 10  # what is offered first
UNDO_S = 86_400
MOST_NAMED = 5  # rules in a message
SHADOW, ENFORCE, OFF = Stage(Mode.SHADOW.value), Stage(Mode.ENFORCE.value), Stage(Mode.OFF.value)
_SALT = "ratewindow.rollout.undo"
_LIST = "admin:ratewindow_raterule_changelist"

Moves = Mapping[int, tuple[Stage, Stage]]  # by primary key: what a rule is, or has to be, before and after


def urls(model_admin: "ModelAdmin[Any]") -> list[URLPattern]:
    view = model_admin.admin_site.admin_view
    return [
        path("<int:pk>/stage/", view(partial(press, model_admin)), name="ratewindow_raterule_stage"),
        path("stage/undo/", view(partial(undo, model_admin)), name="ratewindow_raterule_stage_undo"),
    ]


def box(model_admin: "ModelAdmin[Any]", request: HttpRequest, rule: RateRule) -> dict[str, Any]:
    """What ``rollout.html`` shows: since when and by whom, what the rule met and refused since, and the buttons."""
    stage, since = Stage.of(rule), rollout_figures.since(rule)
    period = rollout_figures.period(since)
    found = rollout_figures.counts(request, period, rule.name)
    sums = found.rules.get(rule.name, NOTHING)
    may_change, may_see = model_admin.has_change_permission(request, rule), request.user.has_perm("ratewindow.view_throttlestat")
    refuses = sums.refused if stage.mode == Mode.ENFORCE else sums.would_refuse
    return {
        "stage": stage,
        "since": since,
        "sentence": rollout_figures.sentence(stage, sums, found.live, period),
        "clients": rollout_figures.clients(request, stage, period, rule.name) if refuses else "",
        "who_url": who_url(rule.name) if may_see and refuses else "",
        "url": reverse("admin:ratewindow_raterule_stage", args=[rule.pk]) if may_change else "",
        "may_enforce": may_enforce(request),
        "percent": stage.percent if stage.percent < 100 else FIRST_PERCENT,
        "most_reason": MOST_REASON,
    }


def who_url(name: str) -> str:
    return f"{reverse('admin:ratewindow_report')}?{urlencode({'period': '24h', 'rule': name})}"


def press(model_admin: "ModelAdmin[Any]", request: HttpRequest, pk: int) -> HttpResponse:
    """The handler of the box's buttons."""
    rule = get_object_or_404(RateRule, pk=pk)
    if response := _reject(model_admin, request, rule):
        return response
    back = HttpResponseRedirect(reverse("admin:ratewindow_raterule_change", args=[pk]))
    try:
        after = stage_of(request.POST.get("to", ""), request.POST.get("percent", ""))
    except ValueError as error:
        messages.error(request, str(error))
        return back
    with transaction.atomic(using=router.db_for_write(RateRule)):
        before = Stage.of(RateRule.objects.select_for_update().get(pk=pk))
        if request.POST.get("seen") == str(before):
            move(model_admin, request, {pk: (before, after)})
        else:
            messages.warning(request, _meanwhile(rule, before))
    return back


def undo(model_admin: "ModelAdmin[Any]", request: HttpRequest) -> HttpResponse:
    """Bring the rules of a message back to where they were."""
    if response := _reject(model_admin, request):
        return response
    try:
        sent = signing.loads(request.POST.get("moves", ""), salt=_SALT, max_age=UNDO_S)
    except signing.BadSignature:
        messages.error(request, gettext("This can no longer be undone. Choose the mode on the page of the rule instead."))
        return HttpResponseRedirect(reverse(_LIST))
    moves = {int(pk): (Stage(*before), Stage(*after)) for pk, before, after in sent}
    move(model_admin, request, moves)
    if len(moves) == 1 and RateRule.objects.filter(pk__in=moves).exists():
        return HttpResponseRedirect(reverse("admin:ratewindow_raterule_change", args=list(moves)))
    return HttpResponseRedirect(reverse(_LIST))


def stage_of(to: str, percent: str = "") -> Stage:
    """The stage that a button names; ValueError says what to enter instead."""
    if to != "percent":
        if to not in Mode.values:
            raise ValueError(gettext("%r is not a mode. Use the buttons.") % to[:20])
        return Stage(to)
    if not (percent.isascii() and percent.isdigit() and 1 <= int(percent[:4]) <= 100):
        problem = gettext("%r is not a percentage of clients: enter a whole number from 1 to 100.")
        raise ValueError(problem % percent[:20])
    return Stage(Mode.ENFORCE.value, int(percent))


def move(model_admin: "ModelAdmin[Any]", request: HttpRequest, moves: Moves) -> None:
    """Move each rule that is where it has to be, log it, and offer to undo it. PermissionDenied if one may not be enforced."""
    if any(after.mode == Mode.ENFORCE for _, after in moves.values()) and not may_enforce(request):
        raise PermissionDenied
    done, left = [], []
    with transaction.atomic(using=router.db_for_write(RateRule)):
        for rule in RateRule.objects.select_for_update().filter(pk__in=moves).order_by("name"):
            before, after = moves[rule.pk]
            if Stage.of(rule) != before:
                left.append(rule.name)
            elif before != after:
                _save(model_admin, request, rule, after)
                done.append((rule, before, after))
    if left:
        messages.warning(
            request, gettext("These have been changed meanwhile and stay as they are: %s.") % some_of(left, MOST_NAMED)
        )
    if done:
        _announce(request, done)
    elif not left:
        messages.info(request, gettext("Nothing to change."))


def _save(model_admin: "ModelAdmin[Any]", request: HttpRequest, rule: RateRule, stage: Stage) -> None:
    rule.mode = stage.mode
    if stage.mode == Mode.ENFORCE:
        rule.enforce_percent = stage.percent
    rule.save(update_fields=["mode", "enforce_percent"])
    model_admin.log_change(request, rule, [{"changed": {"fields": ["Mode"]}}])


def _announce(request: HttpRequest, done: list[tuple[RateRule, Stage, Stage]]) -> None:
    """``Now enforced for 10 % of clients: login (was: in shadow).``, with a button to undo for who may do that."""
    after = done[0][2]
    same = all(stage == after for _, _, stage in done)
    if same:
        were = [gettext("%(rule)s (was: %(before)s)") % {"rule": rule.name, "before": before.words} for rule, before, _ in done]
        words = gettext("Now %(now)s: %(rules)s.") % {"now": after.words, "rules": some_of(were, MOST_NAMED)}
    else:
        words = gettext("Undone: %s.") % some_of([rule.name for rule, _, _ in done], MOST_NAMED)
    if any(before.mode == Mode.ENFORCE for _, before, _ in done) and not may_enforce(request):
        lasting = gettext("Enforcing again takes the permission “Can enforce rules”.")
        messages.success(request, f"{words} {lasting}")
        return
    back = [(rule.pk, (now.mode, now.percent), (before.mode, before.percent)) for rule, before, now in done]
    fields = {"moves": signing.dumps(back, salt=_SALT), "reason": gettext("Undone")}
    button = post_button(request, reverse("admin:ratewindow_raterule_stage_undo"), gettext("Undo"), fields)
    messages.success(request, format_html("{} {}", words, button))


def _meanwhile(rule: RateRule, stage: Stage) -> str:
    match stage.mode:
        case "enforce":
            text = gettext(
                "Nothing is changed: meanwhile somebody else has put %(rule)s to enforce, %(percent)d %% of clients. Look again."
            )
        case "shadow":
            text = gettext("Nothing is changed: meanwhile somebody else has put %(rule)s in shadow. Look again.")
        case _:
            text = gettext("Nothing is changed: meanwhile somebody else has put %(rule)s off. Look again.")
    return text % {"rule": rule, "percent": stage.percent}


def _reject(model_admin: "ModelAdmin[Any]", request: HttpRequest, rule: RateRule | None = None) -> HttpResponse | None:
    if not model_admin.has_change_permission(request, rule):
        raise PermissionDenied
    return None if request.method == "POST" else HttpResponseNotAllowed(["POST"])
