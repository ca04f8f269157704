"""Choosing a limit without a log: the box of a rule's page that records what its clients use, and its buttons."""

import re
from datetime import timedelta
from functools import partial
from typing import Any

from django.contrib import messages
from django.contrib.admin import ModelAdmin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.urls import URLPattern, path
from django.utils.dateparse import parse_datetime
from django.utils.html import format_html
from django.utils.translation import gettext, ngettext

from ratewindow.admin.addresses import reverse
from ratewindow.admin.post_button import post_button
from ratewindow.admin.rules.recording_figures import Figures, figures
from ratewindow.admin.wording import local_time
from ratewindow.conf import time_zone
from ratewindow.conf.translation import translated
from ratewindow.limiter.types import Window
from ratewindow.models import RateRule, Recording
from ratewindow.models.origin import MOST_REASON
from ratewindow.operations import recorded_peaks, recordings

_URL = "admin:ratewindow_raterule_record"


def urls(model_admin: "ModelAdmin[Any]") -> list[URLPattern]:
    view = model_admin.admin_site.admin_view(partial(press, model_admin))
    return [path("<int:pk>/record/", view, name="ratewindow_raterule_record")]


def box(model_admin: "ModelAdmin[Any]", request: HttpRequest, rule: RateRule) -> dict[str, Any]:
    """What ``recording.html`` shows: since when and until when, what was found, and the buttons."""
    windows, recording = recordings.windows(rule), recordings.latest(rule.name)
    window = recordings.window_of(recording, rule) if recording is not None else None
    may_change = model_admin.has_change_permission(request, rule)
    if recording is None and not (may_change and windows):
        return {}
    return {
        "recording": recording,
        "is_going_on": recording is not None and recordings.is_going_on(recording),
        "state": state(recording, window) if recording is not None else "",
        "figures": _figures(request, rule, recording, window) if recording is not None and window is not None else None,
        "limits": [(window.tag, window.text) for window in windows],
        "days": [(days, ngettext("%d day", "%d days", days) % days) for days in recordings.DAYS],
        "url": reverse(_URL, args=[rule.pk]) if may_change else "",
        "most_reason": MOST_REASON,
    }


def _figures(request: HttpRequest, rule: RateRule, recording: Recording, window: Window) -> Figures | None:
    found = recorded_peaks.found(recording)
    return figures(request, rule, found, recorded_peaks.of_period(found, window)) if found.clients else None


def state(recording: Recording, window: Window | None) -> str:
    """Since when and until when, and by whom. `window` is the limit that is recorded, if the rule still has it."""
    values = {
        "limit": recording.rate,
        "since": local_time(recording.since),
        "until": local_time(recording.until),
        "who": recording.by,
    }
    if not recordings.is_going_on(recording):
        return gettext("From %(since)s to %(until)s, what the clients used of %(limit)s was recorded.") % values
    if window is None:
        return gettext("The rule no longer has the limit %(limit)s that is recorded, so nothing more comes.") % values
    if recording.by:
        return gettext("Until %(until)s, what the clients use of %(limit)s is recorded, since %(since)s by %(who)s.") % values
    return gettext("From %(since)s to %(until)s, what the clients use of %(limit)s is recorded.") % values


def press(model_admin: "ModelAdmin[Any]", request: HttpRequest, pk: int) -> HttpResponse:
    """The handler of the box's buttons, and of those in its messages."""
    rule = get_object_or_404(RateRule, pk=pk)
    if not model_admin.has_change_permission(request, rule):
        raise PermissionDenied
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    try:
        match request.POST.get("to", ""):
            case "end":
                _end(request, rule)
            case "go_on":
                _go_on(request, rule)
            case _:
                _start(request, rule)
    except ValueError as error:
        messages.error(request, gettext("Not recorded: %s.") % translated(error))
    return HttpResponseRedirect(reverse("admin:ratewindow_raterule_change", args=[pk]))


def _start(request: HttpRequest, rule: RateRule) -> None:
    days, tag = request.POST.get("days", ""), request.POST.get("limit", "")
    if days not in map(str, recordings.DAYS):
        raise ValueError(gettext("%r is not a number of days that is offered: use the buttons") % days[:20])
    window = next((each for each in recordings.windows(rule) if each.tag == tag), None)
    if window is None:
        raise ValueError(gettext("the rule no longer has this limit: choose another one"))
    recording = recordings.start(rule, window, time_zone.now() + timedelta(days=int(days)))
    values = {"limit": recording.rate, "until": local_time(recording.until)}
    text = gettext("Until %(until)s, what the clients use of %(limit)s is recorded.") % values
    button = _button(request, rule, recording, gettext("End it"), {"to": "end"})
    messages.success(request, format_html("{} {}", text, button))


def _end(request: HttpRequest, rule: RateRule) -> None:
    recording = _posted(request, rule)
    if not recordings.is_going_on(recording):
        messages.info(request, gettext("Nothing to end: it is not recorded any more."))
        return
    until = recording.until
    recordings.end(recording)
    button = _button(request, rule, recording, gettext("Go on"), {"to": "go_on", "until": until.isoformat()})
    text = gettext("Recording ended. What was recorded is kept, and shown here.")
    messages.success(request, format_html("{} {}", text, button))


def _go_on(request: HttpRequest, rule: RateRule) -> None:
    recording, until = _posted(request, rule), parse_datetime(request.POST.get("until", ""))
    if until is None:
        raise ValueError(gettext("no end is given: use the buttons"))
    recordings.go_on(recording, time_zone.aware(until))
    messages.success(request, gettext("Until %s, recording goes on.") % local_time(recording.until))


def _posted(request: HttpRequest, rule: RateRule) -> Recording:
    number = request.POST.get("recording", "")
    found = Recording.objects.filter(pk=number, rule=rule.name).first() if re.fullmatch("[0-9]{1,18}", number) else None
    if found is None:
        raise ValueError(gettext("there is no such recording any more: load the page again"))
    return found


def _button(request: HttpRequest, rule: RateRule, recording: Recording, label: str, fields: dict[str, str]) -> str:
    return post_button(request, reverse(_URL, args=[rule.pk]), label, {"recording": str(recording.pk), **fields})
