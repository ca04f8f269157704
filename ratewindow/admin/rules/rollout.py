"""What a rule did, and from shadow to enforce: the column of the last hour, the box on top of a rule's page, and actions."""

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from django.contrib import admin, messages
from django.core.exceptions import BadRequest, PermissionDenied
from django.db import router, transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_lazy as _

from ratewindow import rooms
from ratewindow.admin.base import reverse
from ratewindow.admin.rights import may_enforce
from ratewindow.admin.state import emergencies, glance
from ratewindow.admin.wording import mode_in_words
from ratewindow.conf import time_zone
from ratewindow.conf.in_words import number, percent, some_of
from ratewindow.counting.sums import NOTHING
from ratewindow.models import Mode, RateRule
from ratewindow.models.origin import MOST_REASON
from ratewindow.report.report import Report, last, waiting


def report_for(request: HttpRequest) -> Report:
    """The report of the last hour, made once per request; from the database alone while Redis does not answer."""
    if not hasattr(request, "_ratewindow_last_hour"):
        period = last("1h", time_zone.now())
        known = waiting(ask_redis=glance(request)["store"]["reachable"])
        request._ratewindow_last_hour = Report(period, known)  # type: ignore[attr-defined]
    return request._ratewindow_last_hour  # type: ignore[attr-defined,no-any-return]


def last_hour_column(request: HttpRequest) -> Callable[[RateRule], SafeString]:
    """An entry of `list_display` that reads this request's report."""

    @admin.display(description=_("last hour"))
    def last_hour(rule: RateRule) -> SafeString:
        return last_hour_of(request, rule.name)

    return last_hour


def last_hour_of(request: HttpRequest, name: str) -> SafeString:
    said = figures(report_for(request), name)
    if all(name != each.rule for each in emergencies(request)):
        return said
    return format_html('<strong class="rw-hour-refused">{}</strong> {}', gettext("refuses nearly everybody"), said)


def figures(report: Report, name: str) -> SafeString:
    """``1,960 passed · 18,411 refused, 90 %``; in shadow what would have been refused; ``not known`` without Redis and rows."""
    sums = report.rules.get(name, NOTHING)
    if not sums.met:
        return format_html('<span class="rw-hour">{}</span>', gettext("no requests") if report.live else gettext("not known"))
    texts = [
        ("passed", gettext("%(count)s passed"), sums.passed),
        ("refused", gettext("%(count)s refused, %(share)s"), sums.refused),
        ("other", gettext("%(count)s refused by another rule"), sums.other),
        ("would", gettext("%(count)s would be refused, %(share)s"), sums.would_refuse),
    ]
    parts = [
        (kind, text % {"count": number(count), "share": percent(count, sums.met)})
        for kind, text, count in texts
        if count or kind == "passed"
    ]
    dot = SafeString('<span class="rw-dot"> · </span>')
    return format_html('<span class="rw-hour">{}</span>', format_html_join(dot, '<span class="rw-hour-{}">{}</span>', parts))


def box(model_admin: Any, request: HttpRequest, rule: RateRule) -> dict[str, Any]:
    """What ``rollout.html`` shows: the mode, since when, what the rule matched and refused, and the buttons."""
    period = last("24h", time_zone.now())
    counted = Report(period, waiting(ask_redis=glance(request)["store"]["reachable"]), rule.name)
    return {
        "mode": rule.mode,
        "words": mode_in_words(rule),
        "since": time_zone.local(rule.mode_since),
        "figures": figures(counted, rule.name),
        "who_url": f"{reverse('admin:ratewindow_report', request=request)}?{urlencode({'period': '24h', 'rule': rule.name})}",
        "url": reverse("admin:ratewindow_raterule_mode", [rule.pk], request)
        if model_admin.has_change_permission(request)
        else "",
        "may_enforce": may_enforce(request),
        "most_reason": MOST_REASON if rooms.keep_reasons() else 0,
    }


def press(model_admin: Any, request: HttpRequest, pk: int) -> HttpResponse:
    """The handler of the box's buttons."""
    if not model_admin.has_change_permission(request):
        raise PermissionDenied
    if (mode := request.POST.get("to")) not in Mode.values:
        raise BadRequest
    move(model_admin, request, RateRule.objects.filter(pk=pk), mode)
    return HttpResponseRedirect(reverse("admin:ratewindow_raterule_change", [pk], request))


def move(model_admin: Any, request: HttpRequest, rules: QuerySet[RateRule], mode: str) -> None:
    """Bring rules into a mode, and log it. PermissionDenied for who may not enforce rules."""
    if mode == Mode.ENFORCE and not may_enforce(request):
        raise PermissionDenied
    with transaction.atomic(using=router.db_for_write(RateRule)):
        moved = list(rules.select_for_update().exclude(mode=mode).order_by("name"))
        for rule in moved:
            rule.mode = mode
            rule.save(update_fields=["mode"])
            model_admin.log_change(request, rule, [{"changed": {"fields": ["Mode"]}}])
    if moved:
        messages.success(request, gettext("Saved: %s.") % some_of(f"{rule.name}: {mode_in_words(rule)}" for rule in moved))
    else:
        messages.info(request, gettext("Nothing to change."))


@admin.action(description=_("Enforce selected rules"), permissions=["enforce"])
def enforce(model_admin: Any, request: HttpRequest, rules: QuerySet[RateRule]) -> None:
    move(model_admin, request, rules, Mode.ENFORCE)


@admin.action(description=_("Put selected rules in shadow (count, refuse nobody)"), permissions=["change"])
def shadow(model_admin: Any, request: HttpRequest, rules: QuerySet[RateRule]) -> None:
    move(model_admin, request, rules, Mode.SHADOW)


@admin.action(description=_("Switch selected rules off"), permissions=["change"])
def switch_off(model_admin: Any, request: HttpRequest, rules: QuerySet[RateRule]) -> None:
    move(model_admin, request, rules, Mode.OFF)


ACTIONS = (enforce, shadow, switch_off)
