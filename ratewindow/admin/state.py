"""The top of every page of the app, its tabs and the state of limiting as a banner; the page State, and that which switches all
limits off."""

import time
from contextlib import suppress
from functools import cached_property
from typing import Any

from django import forms
from django.contrib import messages
from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.defaultfilters import filesizeformat
from django.utils.translation import gettext, gettext_lazy as _, pgettext

from ratewindow import conf, rooms
from ratewindow.admin.base import render_page, reverse
from ratewindow.admin.wording import cause_in_words
from ratewindow.conf import time_zone
from ratewindow.conf.in_words import listed, number
from ratewindow.counting.sums import percentiles
from ratewindow.health import emergency, overview
from ratewindow.models import LimitSwitch
from ratewindow.operations import switch_off
from ratewindow.operations.rights import may, require
from ratewindow.report.report import Report, last, waiting
from ratewindow.rulebook import kill_switch
from ratewindow.store import process_clients

TABS = [
    rooms.Tab(1, "admin:ratewindow_report", _("Report"), ["ratewindow.view_throttlestat"]),
    rooms.Tab(2, "admin:ratewindow_raterule_changelist", _("Rules"), ["ratewindow.view_raterule", "ratewindow.change_raterule"]),
    rooms.Tab(
        3,
        "admin:ratewindow_override_changelist",
        _("Blocks"),
        ["ratewindow.view_override", "ratewindow.change_override", "ratewindow.release_identity"],
    ),
    rooms.Tab(6, "admin:ratewindow_state", _("State"), ["ratewindow.view_throttlestat"]),
]


def tabs(request: HttpRequest) -> dict[str, Any]:
    """The addresses and names of pages that this person may open; `here` is that of the page shown, or of the one above it."""
    every = sorted([*TABS, *(tab for room in rooms.installed() for tab in room.tabs)], key=lambda tab: tab.place)
    may_open = [tab for tab in every if any(request.user.has_perms(together.split()) for together in tab.permissions)]
    links = [(url, tab.text) for tab in may_open if (url := reverse(tab.page, request=request))]
    return {"tabs": links, "here": max((url for url, _ in links if request.path.startswith(url)), key=len, default="")}


def banner(request: HttpRequest, with_problems: bool = True, with_emergencies: bool = True) -> dict[str, Any]:
    """What ``banner.html`` shows: `problems` are sentences, `off` is one. The URLs are empty for users without permission."""
    may_view = request.user.has_perm("ratewindow.view_throttlestat")
    return {
        "emergencies": [
            *overview.proxies(glance(request).status["processes"]),
            *(each.sentence for each in glance(request).emergencies),
        ]
        if with_emergencies and may_view
        else [],
        "problems": glance(request).status["problems"] if with_problems else [],
        "off": off_message(),
        "state_url": reverse("admin:ratewindow_state", request=request) if may_view else "",
        "switch_url": reverse("admin:ratewindow_switch", request=request)
        if may(request.user, "switch_limits") and conf.current().enabled
        else "",
    }


class Glance:
    """What several parts of a page say of the limiter, each read once per request, since Redis may answer slowly."""

    @cached_property
    def status(self) -> dict[str, Any]:
        """Without a description of the server."""
        return overview.status(at_server=False)

    @cached_property
    def emergencies(self) -> list[emergency.Emergency]:
        """The rules that refuse nearly everybody."""
        return emergency.now(self.status["processes"])

    @cached_property
    def last_hour(self) -> Report:
        """From the database alone while Redis does not answer."""
        return Report(last("1h", time_zone.now()), waiting(ask_redis=self.status["store"]["reachable"]))


def glance(request: HttpRequest) -> Glance:
    return vars(request).setdefault("_ratewindow_glance", Glance())  # type: ignore[no-any-return]


def off_message() -> str:
    """``Limits are OFF until 12:30, by ann: a campaign. ...``; empty while limits are on."""
    if not conf.current().enabled:
        return gettext("Limits are OFF by RATEWINDOW['ENABLED'] in the settings. Nothing is refused or counted.")
    switch = kill_switch.turned
    if not switch.is_off(time.time()):
        return ""
    return gettext("Limits are OFF %s. Nothing is refused or counted.") % switch.how()


def state_page(model_admin: Any, request: HttpRequest) -> HttpResponse:
    require(request.user.has_perm("ratewindow.view_throttlestat"))
    status = overview.status()
    store = status["store"]
    lately = Report(last("15m", time_zone.now()), waiting(ask_redis=store["reachable"]))
    latency = percentiles(lately.tallies.latency)
    return render_page(
        model_admin,
        request,
        "admin/ratewindow/state.html",
        gettext("State"),
        {
            "status": status,
            "facts": facts(store),
            "error": cause_in_words(store.get("error", "")),
            "latency": latency,
            "decisions": number(latency.count) if latency else "",
            # Without those that have not needed Redis since it is unavailable.
            "processes": [
                process_line(each) for each in status["processes"] if each["breaker"] != "closed" or store["reachable"]
            ],
            "failed": [(cause_in_words(cause), cause, number(count)) for cause, count in sorted(status["fallback"].items())],
        },
    )


def facts(store: dict[str, Any]) -> list[tuple[str, str]]:
    """Names and values that describe the server, without those that are unknown."""
    used, most = (filesizeformat(store.get(name) or 0) for name in ("memory_used", "memory_max"))
    memory = gettext("%(used)s of %(maximum)s") % {"used": used, "maximum": most if store.get("memory_max") else "∞"}
    values = [
        (gettext("Server"), f"{store.get('server', '')} {store.get('version') or ''}".strip()),
        (gettext("Address"), store.get("address", "")),
        (gettext("Memory"), memory if store.get("memory_used") else ""),
        (gettext("When memory is full"), store.get("eviction_policy")),
        (gettext("Keys"), store.get("keys")),
    ]
    return [(name, value) for name, value in values if value]


def process_line(process: dict[str, Any]) -> dict[str, Any]:
    """One process as a line of the table; `mark` is ``closed`` or ``open``."""
    breakers = {
        "closed": gettext("counts in its memory") if process_clients.in_memory() else gettext("counts on Redis"),
        "open": gettext("does not count on %(servers)s since %(time)s: %(cause)s")
        % {
            "servers": listed(process.get("servers") or ["Redis"]),
            "time": overview.clock(process.get("degraded_since")),
            "cause": cause_in_words(process.get("error", "")),
        },
    }
    rules = gettext("%s; cannot be read now") if process.get("rules_error") else "%s"
    return {
        "name": f"{process['host']} {process['pid']}",
        "kind": process["kind"],
        "since": overview.clock(process.get("since")),
        "mark": process["breaker"],
        "breaker": breakers.get(process["breaker"], process["breaker"]),
        "rules": rules % number(process["rules"]) if process.get("rules") is not None else "",
        "switch": {"on": pgettext("limits", "on"), "off": pgettext("limits", "off")}.get(process.get("switch", "")),
        "fallback": number(sum(process["fallback"].values())) if process.get("fallback") else "",
    }


NO_END = "always"
LENGTHS = (("15m", _("15 minutes")), ("1h", _("1 hour")), ("8h", _("8 hours")), (NO_END, _("Until somebody switches them on")))


class SwitchForm(forms.Form):
    """For how long limits are off, and why."""

    required_css_class = "required"

    length = forms.ChoiceField(
        label=_("For how long"),
        initial="15m",
        choices=LENGTHS,
        widget=forms.RadioSelect(attrs={"class": "radiolist"}),
        help_text=_("Except with the last choice, limits are switched on again automatically."),
    )
    reason = forms.CharField(
        label=_("Reason"),
        max_length=200,
        widget=forms.TextInput(attrs={"class": "vTextField", "autocomplete": "off"}),
        help_text=_("Shown on every page about limits while they are off."),
        error_messages={"required": _("Enter a reason for your colleagues.")},
    )


def switch_page(model_admin: Any, request: HttpRequest) -> HttpResponse:
    """The form, which switches limits off, and the handler of the buttons that switch them on."""
    require(may(request.user, "switch_limits"))
    is_on = request.POST.get("to") == "on"
    form = SwitchForm(request.POST if request.method == "POST" and not is_on else None)
    if form.is_valid() or (request.method == "POST" and is_on):
        _turn(model_admin, request, {} if is_on else form.cleaned_data)
        may_view = request.user.has_perm("ratewindow.view_throttlestat")
        return HttpResponseRedirect(reverse("admin:ratewindow_report" if may_view else "admin:index", request=request))
    return render_page(
        model_admin,
        request,
        "admin/ratewindow/switch.html",
        gettext("Switch all limits off"),
        {
            "form": form,
            "is_off": bool(off_message()),
            "by_setting": not conf.current().enabled,
        },
    )


def _turn(model_admin: Any, request: HttpRequest, off: dict[str, Any]) -> None:
    """Switch limits off as the form says, or on without one. The banner then says that they are off."""
    by = request.user.get_username()
    try:
        if off:
            for_s = None if off["length"] == NO_END else switch_off.seconds_of(off["length"])
            unreached = switch_off.turn_off(for_s, off["reason"], by)
        else:
            unreached = switch_off.turn_on("", by)
            messages.success(request, gettext("Limits are switched on."))
    except OSError as error:
        messages.error(request, str(error))
        return
    for sentence in unreached:
        messages.warning(request, sentence)
    with suppress(DatabaseError):  # limits are switched all the same
        for row in LimitSwitch.objects.all():
            model_admin.log_change(request, row, f"Switched {switch_off.current().words()}.")
