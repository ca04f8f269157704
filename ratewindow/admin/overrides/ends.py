"""Ending and extending blocks and exemptions from their list, each with an undo in its message."""

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import Any

from django.contrib import admin, messages
from django.contrib.admin import ModelAdmin
from django.core import signing
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.utils.dateparse import parse_datetime
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from ratewindow.admin import switch_page
from ratewindow.admin.addresses import reverse
from ratewindow.admin.concerns_many import concerns_many
from ratewindow.admin.masking import display
from ratewindow.admin.post_button import post_button
from ratewindow.conf import time_zone
from ratewindow.conf.in_words import some_of
from ratewindow.models import Override
from ratewindow.models.override_manager import YEARS, OverrideQuerySet

HOUR = timedelta(hours=1)
UNDO_S = 86_400
_SALT = "ratewindow.override.undo"
_LIST = "admin:ratewindow_override_changelist"
_GONE = _("Nothing to undo: they have been deleted.")
_EXTEND_FORBIDDEN = _("You need the permission to switch all limits off to extend what applies to all visitors, or nearly all.")


@admin.action(description=_("End selected ones now"), permissions=["change"])
def end_now(model_admin: Any, request: HttpRequest, overrides: Any) -> None:
    now = time_zone.now()
    nothing_done = gettext("Nothing to end: they have already ended.")
    _set_ends(model_admin, request, overrides.not_ended(now), lambda override: now, gettext("Ended: %s."), nothing_done)


@admin.action(description=_("Extend selected ones by 1 hour"), permissions=["change"])
def extend(model_admin: Any, request: HttpRequest, overrides: Any) -> None:
    lasting = overrides.not_ended().filter(expires_at__year__lt=YEARS.stop)  # None has no year
    if not switch_page.may_switch(request) and (wide := [each.pk for each in lasting if concerns_many(each.identity)]):
        messages.error(request, _EXTEND_FORBIDDEN)
        lasting = lasting.exclude(pk__in=wide)
    _set_ends(
        model_admin,
        request,
        lasting,
        lambda override: override.expires_at + HOUR if override.expires_at else None,
        gettext("Extended by 1 hour: %s."),
        gettext("Nothing to extend: they have ended or have no end. Add a new one in place of one that has ended."),
    )


def act_on_one(model_admin: "ModelAdmin[Any]", action: Callable[..., None], request: HttpRequest, pk: int) -> HttpResponse:
    """The handler of a button of one row of the list."""
    if not model_admin.has_change_permission(request):
        raise PermissionDenied
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    action(model_admin, request, Override.objects.get_queryset().filter(pk=pk))
    return HttpResponseRedirect(reverse(_LIST))


def extend_instead(model_admin: "ModelAdmin[Any]", request: HttpRequest, first: Override, end: datetime | None) -> HttpResponse:
    """Extend one until the end that another was to have."""
    done = gettext("Extended without end: %s.")
    if end:
        done = gettext("Extended until %(time)s: %(who)s.") % {"time": time_zone.in_short(end), "who": "%s"}
    _set_ends(model_admin, request, Override.objects.get_queryset().filter(pk=first.pk), lambda each: end, done, str(_GONE))
    return HttpResponseRedirect(reverse(_LIST))


def undo(model_admin: "ModelAdmin[Any]", request: HttpRequest) -> HttpResponse:
    """Restore the ends that the message's button has sent."""
    try:
        before, adder = signing.loads(request.POST.get("before", ""), salt=_SALT, max_age=UNDO_S)
    except signing.BadSignature:
        before, adder = [], None
    if adder != str(request.user.pk) and not model_admin.has_change_permission(request):
        raise PermissionDenied
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    if not before:
        messages.error(request, gettext("This can no longer be undone. Change the time in the form instead."))
        return HttpResponseRedirect(reverse(_LIST))
    ends = {int(pk): parse_datetime(end) if end else None for pk, end in before}
    overrides = Override.objects.get_queryset().filter(pk__in=ends)
    _set_ends(model_admin, request, overrides, lambda each: ends[each.pk], gettext("Undone: %s."), str(_GONE))
    return HttpResponseRedirect(reverse(_LIST))


def _set_ends(
    model_admin: "ModelAdmin[Any]",
    request: HttpRequest,
    overrides: OverrideQuerySet,
    new_end: Callable[[Override], datetime | None],
    done: str,
    nothing_done: str,
) -> None:
    """Set a new end of each, log it, and offer to undo it."""
    before, names = [], []
    with transaction.atomic():
        for override in overrides:
            before.append((override.pk, override.expires_at.isoformat() if override.expires_at else ""))
            override.expires_at = new_end(override)
            override.save(update_fields=["expires_at"])
            model_admin.log_change(request, override, [{"changed": {"fields": ["until"]}}])
            names.append(display(request, override.identity))
    if names:
        messages.success(request, _with_undo(request, done % some_of(names), before))
    else:
        messages.info(request, nothing_done)


def added(request: HttpRequest, message: str, override: Override) -> SafeString:
    """A message about a new one, whose undo ends it: that takes no more than the permission to add it."""
    return _with_undo(request, message, [(override.pk, time_zone.now().isoformat())], str(request.user.pk))


def _with_undo(request: HttpRequest, message: str, before: Iterable[tuple[int, str]], adder: str = "") -> SafeString:
    """A message with a button to undo; `adder` may press it without further permission."""
    fields = {"before": signing.dumps([list(before), adder], salt=_SALT), "reason": gettext("Undone")}
    return format_html("{} {}", message, post_button(request, reverse("admin:ratewindow_override_undo"), gettext("Undo"), fields))
