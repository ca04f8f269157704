"""The buttons of the report: block or exempt a client or a network, tighten a rule; each for a while, with a reason.

A button fills the short form of the list of blocks. If that form has errors, or a question, it is shown as it was filled.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from django.contrib.admin import ModelAdmin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.template.response import TemplateResponse
from django.utils.text import Truncator
from django.utils.translation import gettext, ngettext

from ratewindow.admin import explain_links, own_page, switch_page
from ratewindow.admin.addresses import reverse
from ratewindow.admin.masking import display, may_look_up, may_see
from ratewindow.admin.overrides import quick
from ratewindow.admin.overrides.release_page import may_release
from ratewindow.limiter.durations import format_duration
from ratewindow.limiter.types import Window
from ratewindow.models import Override
from ratewindow.operations.override_notes import already, already_in_words
from ratewindow.overrides.subjects import EVERYBODY, in_words, masked, parse_subject
from ratewindow.reporting.about_request import method_and_path
from ratewindow.reporting.summary import number
from ratewindow.rulebook import current
from ratewindow.rules import code_rates

HOUR, DAY = "1h", "24h"
MOST_NAMED = 60  # characters of a client on a button
# What each button fills into the form.
_BUTTONS: Mapping[str, Mapping[str, str]] = {
    f"{name}-{lasts}": {"what": what, "lasts": lasts}
    for name, what in (("block", "block"), ("exempt", "allow"), ("tighten", "rate"))
    for lasts in (HOUR, DAY)
}


@dataclass(frozen=True)
class Button:
    value: str
    label: str


@dataclass(frozen=True)
class Act:
    """One form with a reason, and buttons that say for how long."""

    summary: str
    buttons: Sequence[Button]
    identity: str
    reason: str
    rule: str = ""
    rate: str = ""


def about_client(request: HttpRequest, identity: str, reason: str) -> list[Act]:
    """Block and exempt; none where the reader may not see or may not block the client."""
    if not may_act_on(request, identity):
        return []
    who = _named(request, identity)
    return [
        Act(
            gettext("Block or exempt"),
            (*_to_block(who), Button(f"exempt-{HOUR}", gettext("Exempt %(who)s for 1 h") % {"who": who})),
            identity,
            reason,
        )
    ]


def block(request: HttpRequest, identity: str, reason: str) -> list[Act]:
    if not identity or not may_act_on(request, identity):
        return []
    return [
        Act(
            gettext("Block %s…") % display(request, identity),
            _to_block(_named(request, identity)),
            identity,
            reason,
        )
    ]


def _to_block(who: str) -> Sequence[Button]:
    values = {"who": who}
    return (
        Button(f"block-{HOUR}", gettext("Block %(who)s for 1 h") % values),
        Button(f"block-{DAY}", gettext("Block %(who)s for 24 h") % values),
    )


def _named(request: HttpRequest, identity: str) -> str:
    """``ip:203.0.113.9``, or ``203.0.113.0/24 (256 addresses)``, of which a button says for how long."""
    with suppress(ValueError):
        network = parse_subject(identity).network
        if network is not None and network.version == 4 and network.length < 32:
            count = 2 ** (32 - network.length)
            text = ngettext("%(network)s (%(count)s address)", "%(network)s (%(count)s addresses)", count)
            return text % {"network": identity.removeprefix("ip:"), "count": number(count)}
    return Truncator(display(request, identity)).chars(MOST_NAMED)


def blocked(request: HttpRequest, identity: str) -> str:
    """That it is blocked already, until when and why, to those who may know of a client that they name; otherwise empty."""
    if not identity or not may_look_up(request):
        return ""
    with suppress(ValueError):
        if first := already(Override(action=Override.Action.BLOCK, identity=identity)):
            return already_in_words(first, in_words(identity))
    return ""


def tighten(request: HttpRequest, rule: str, reason: str, summary: str = "") -> list[Act]:
    """Half of what the rule allows, for everybody; that takes the permission to switch all limits off."""
    rate = half_of(windows_of(rule))
    if not rate or not request.user.has_perm("ratewindow.add_override") or not switch_page.may_switch(request):
        return []
    return [
        Act(
            summary or gettext("Tighten %s…") % rule,
            (Button(f"tighten-{HOUR}", gettext("Tighten for 1 h")), Button(f"tighten-{DAY}", gettext("Tighten for 24 h"))),
            EVERYBODY,
            reason,
            rule,
            rate,
        )
    ]


def may_act_on(request: HttpRequest, identity: str, to_add: bool = True) -> bool:
    """Only those who may see an identity get it in a page; a network is shown to all."""
    allowed = not to_add or request.user.has_perm("ratewindow.add_override")
    return allowed and (may_see(request) or masked(identity) == identity)


def release_url(request: HttpRequest, identity: str) -> str:
    return reverse("admin:ratewindow_override_release") if identity and may_release(request) and may_see(request) else ""


def explain_url(request: HttpRequest, identity: str, route: str = "", rule: str = "") -> str:
    """Explain for a client, on this route if it is one path, else on one that the rule meets; empty if that says nothing."""
    if not request.user.has_perm("ratewindow.view_raterule") or not may_act_on(request, identity, to_add=False):
        return ""
    with suppress(ValueError):
        method, path = method_and_path(route)
        if not path and (found := current.rulebook().by_name.get(rule)):
            path = explain_links.path_of(found)
        return explain_links.of_subject(parse_subject(identity), method, path)
    return ""


def windows_of(rule: str) -> Sequence[Window]:
    """The limits of a rule in this process, or of a rate in code."""
    found = current.rulebook().by_name.get(rule)
    uses = [each.rule for each in code_rates.uses().get(rule, ()) if each.rule] if found is None else [found]
    return uses[0].windows if uses else ()


def half_of(windows: Sequence[Window]) -> str:
    """``2/1m; 10/1h`` of ``5/1m; 20/1h``; empty if nothing less is left to allow."""
    if not windows or all(window.limit < 2 for window in windows):
        return ""
    return "; ".join(f"{max(1, window.limit // 2)}/{format_duration(window.period_ms)}" for window in windows)


def press(model_admin: "ModelAdmin[Any]", request: HttpRequest) -> HttpResponse:
    """The handler of the buttons; its query string is that of the report to go back to."""
    overrides: Any = model_admin.admin_site.get_model_admin(Override)
    if not overrides.has_add_permission(request):
        raise PermissionDenied
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    query = request.META.get("QUERY_STRING", "")
    back = reverse("admin:ratewindow_report") + (f"?{query}" if query else "")
    filled = _BUTTONS.get(request.POST.get("do", ""), {})
    given = {name: request.POST.get(name, "") for name in ("identity", "rule", "rate", "reason")}
    form = quick.form_for(request, {**given, **filled})
    if form.is_valid():
        return quick.save(overrides, request, form, back)
    context = {
        **own_page.context(model_admin, request, gettext("Block or exempt")),
        "media": overrides.media,
        "quick_form": form,
        "back": back,
    }
    return TemplateResponse(request, "admin/ratewindow/throttlestat/act.html", context)
