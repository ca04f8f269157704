"""Ending and extending blocks and exemptions from their list, each with an undo in its message."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from django.contrib import admin, messages
from django.contrib.admin import ModelAdmin
from django.core import signing
from django.core.exceptions import PermissionDenied
from django.db import router, transaction
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.utils.dateparse import parse_datetime
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from ratewindow.admin import switch_page
from ratewindow.admin.addresses import reverse
from ratewindow.admin.concerns_many import concerns_many, counted_by
from ratewindow.admin.masking import fingerprint, whom
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
_EXTEND_FORBIDDEN = _(
    "You need the permission to switch all limits off to extend what applies to all visitors, or nearly all: %s."
)


@admin.action(description=_("End selected ones now"), permissions=["change"])
def end_now(model_admin: Any, request: HttpRequest, overrides: Any) -> None:
    now = time_zone.now()
    nothing_done = gettext("Nothing to end: they have already ended.")
    _set_ends(model_admin, request, overrides.not_ended(now), lambda override: now, gettext("Ended: %s."), nothing_done)


@admin.action(description=_("Extend selected ones by 1 hour"), permissions=["change"])
def extend(model_admin: Any, request: HttpRequest, overrides: Any) -> None:
    _set_ends(
        model_admin,
        request,
        overrides.not_ended().filter(expires_at__year__lt=YEARS.stop),  # None has no year
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
    """Restore the ends that the message's button has sent, of those that are still as its action has left them."""
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
    ends = {int(pk): parse_datetime(end) if end else None for pk, end, _ in before}
    left_as = {int(pk): state for pk, _, state in before}
    overrides = Override.objects.get_queryset().select_for_update().filter(pk__in=ends)
    _set_ends(model_admin, request, overrides, lambda each: ends[each.pk], gettext("Undone: %s."), str(_GONE), left_as)
    return HttpResponseRedirect(reverse(_LIST))


def _set_ends(
    model_admin: "ModelAdmin[Any]",
    request: HttpRequest,
    overrides: OverrideQuerySet,
    new_end: Callable[[Override], datetime | None],
    done: str,
    nothing_done: str,
    left_as: Mapping[int, str] | None = None,
) -> None:
    """Set a new end of each for which this person may, log it, and offer to undo it. `left_as` is the state each has to be in."""
    before, names, changed, forbidden, counted = [], [], [], [], counted_by()
    with transaction.atomic(using=router.db_for_write(Override)):
        for override in overrides:
            name, end = whom(request, override.identity), new_end(override)
            if left_as is not None and _state(override) != left_as[override.pk]:
                changed.append(name)
            elif _is_longer(override, end) and not switch_page.may_switch(request) and concerns_many(override.identity, counted):
                forbidden.append(name)
            else:
                old = override.expires_at.isoformat() if override.expires_at else ""
                override.expires_at = end
                override.save(update_fields=["expires_at"])
                model_admin.log_change(request, override, [{"changed": {"fields": ["until"]}}])
                before.append((override.pk, old, _state(override)))
                names.append(name)
    if changed:
        messages.warning(request, gettext("These have been changed meanwhile and stay as they are: %s.") % some_of(changed))
    if forbidden:
        messages.error(request, _EXTEND_FORBIDDEN % some_of(forbidden))
    if names:
        messages.success(request, _with_undo(request, done % some_of(names), before))
    elif not (changed or forbidden):
        messages.info(request, nothing_done)


def _is_longer(override: Override, end: datetime | None) -> bool:
    return override.expires_at is not None and (end is None or end > override.expires_at)


def _state(override: Override) -> str:
    """A digest by which an undo knows that nobody has changed it since."""
    moments = [each and time_zone.aware(each).timestamp() for each in (override.starts_at, override.expires_at)]
    return fingerprint([override.identity, override.action, override.rule, override.rate, *moments])


def added(request: HttpRequest, message: str, override: Override) -> SafeString:
    """A message about a new one, whose undo ends it: that takes no more than the permission to add it."""
    return _with_undo(request, message, [(override.pk, time_zone.now().isoformat(), _state(override))], str(request.user.pk))


def _with_undo(request: HttpRequest, message: str, before: Iterable[tuple[int, str, str]], adder: str = "") -> SafeString:
    """A message with a button to undo; `adder` may press it without further permission."""
    fields = {"before": signing.dumps([list(before), adder], salt=_SALT), "reason": gettext("Undone")}
    return format_html("{} {}", message, post_button(request, reverse("admin:ratewindow_override_undo"), gettext("Undo"), fields))
