"""What a rule did in the last hour, in the list; and from shadow to enforce, by the switch on its page and by actions."""

from collections.abc import Callable
from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import BadRequest
from django.db import models, router, transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_lazy as _

from ratewindow import staff
from ratewindow.admin.base import reverse
from ratewindow.admin.state import glance
from ratewindow.admin.wording import mode_in_words
from ratewindow.conf import in_words
from ratewindow.counting.sums import NOTHING
from ratewindow.models import Mode, RateRule
from ratewindow.operations.rights import require


def last_hour_column(request: HttpRequest) -> Callable[[RateRule], SafeString]:
    """An entry of `list_display` that reads this request's report."""

    @admin.display(description=_("last hour"))
    def last_hour(rule: RateRule) -> SafeString:
        return last_hour_of(request, rule.name)

    return last_hour


def last_hour_of(request: HttpRequest, name: str) -> SafeString:
    """``1,960 passed · 18,411 refused, 90 %``; in shadow what would have been refused; ``not known`` without Redis and rows."""
    report = glance(request).last_hour
    sums = report.rules.get(name, NOTHING)
    if not sums.met:
        return format_html(
            '<span class="rw-hour">{}</span>', gettext("no requests") if report.known.live else gettext("not known")
        )
    texts = [
        ("passed", gettext("%(count)s passed"), sums.passed),
        ("refused", gettext("%(count)s refused, %(share)s"), sums.refused),
        ("other", gettext("%(count)s refused by another rule"), sums.other),
        ("would", gettext("%(count)s would be refused, %(share)s"), sums.would_refuse),
    ]
    alarm = (
        [("refused", gettext("refuses nearly everybody"))] if name in {each.rule for each in glance(request).emergencies} else []
    )
    parts = alarm + [
        (kind, text % {"count": in_words.number(count), "share": in_words.percent(count, sums.met)})
        for kind, text, count in texts
        if count or kind == "passed"
    ]
    dot = SafeString('<span class="rw-dot"> · </span>')
    return format_html('<span class="rw-hour">{}</span>', format_html_join(dot, '<span class="rw-hour-{}">{}</span>', parts))


def press(model_admin: Any, request: HttpRequest, pk: int) -> HttpResponse:
    """The handler of the buttons on the page of a rule."""
    require(model_admin.has_change_permission(request))
    if (mode := request.POST.get("to")) not in Mode.values:
        raise BadRequest
    move(model_admin, request, RateRule.objects.filter(pk=pk), mode)
    if "report" in request.POST:  # where it was pressed
        return HttpResponseRedirect(reverse("admin:ratewindow_report", request=request))
    return HttpResponseRedirect(reverse("admin:ratewindow_raterule_look", [pk], request))


def move(model_admin: Any, request: HttpRequest, rules: models.QuerySet[RateRule], mode: str) -> None:
    """Bring rules into a mode, and log it. PermissionDenied for who may not enforce rules."""
    with transaction.atomic(using=router.db_for_write(RateRule)):
        moved = staff.set_mode(rules, mode, by=request.user)
        for rule in moved:
            model_admin.log_change(request, rule, [{"changed": {"fields": ["Mode"]}}])
    if moved:
        saved = gettext("Saved: %s.") % in_words.some_of(f"{rule.name}: {mode_in_words(rule)}" for rule in moved)
        calm = gettext("In shadow a rule counts, and refuses nobody.")
        messages.success(request, f"{saved} {calm}" if mode == Mode.SHADOW else saved)
    else:
        messages.info(request, gettext("Nothing to change."))


@admin.action(description=_("Enforce selected rules"), permissions=["enforce"])
def enforce(model_admin: Any, request: HttpRequest, rules: models.QuerySet[RateRule]) -> None:
    move(model_admin, request, rules, Mode.ENFORCE)


@admin.action(description=_("Put selected rules in shadow (count, refuse nobody)"), permissions=["change"])
def shadow(model_admin: Any, request: HttpRequest, rules: models.QuerySet[RateRule]) -> None:
    move(model_admin, request, rules, Mode.SHADOW)


@admin.action(description=_("Switch selected rules off"), permissions=["change"])
def switch_off(model_admin: Any, request: HttpRequest, rules: models.QuerySet[RateRule]) -> None:
    move(model_admin, request, rules, Mode.OFF)
