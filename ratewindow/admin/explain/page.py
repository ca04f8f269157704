"""The page Explain. It changes nothing, so its address shows the same to a colleague."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from ratewindow.admin import own_page
from ratewindow.admin.addresses import reverse
from ratewindow.admin.confirm_page import changes_nothing
from ratewindow.admin.explain.form import ExplainForm
from ratewindow.admin.masking import display, may_see
from ratewindow.admin.overrides import links
from ratewindow.admin.reasons import REFUSED
from ratewindow.conf import time_zone
from ratewindow.identity import split
from ratewindow.models import RateRule
from ratewindow.operations.explain import in_words, rule_in_words
from ratewindow.operations.explain.explanation import Effect, Explanation, Line
from ratewindow.overrides.subjects import parse_subject
from ratewindow.reporting.codes import Refusal

MOST_OVERRIDES = 3  # with a button
FEW = 12  # rules that are not met are listed at once if they are so few
_MODES = {"enforce": _("Enforce"), "shadow": _("Shadow"), "off": _("Off"), "code": _("In code")}


@dataclass(frozen=True)
class RuleLine:
    """One rule as the page shows it."""

    name: str
    url: str
    mode: str  # enforce, shadow, off or code
    mode_label: str
    effect: str
    effect_label: str
    why: str
    who: str
    uses: str
    frees: str


def urls(model_admin: Any) -> list[URLPattern]:
    view = changes_nothing(model_admin.admin_site.admin_view(partial(page, model_admin)))
    return [path("explain/", view, name="ratewindow_explain")]


def page(model_admin: Any, request: HttpRequest) -> HttpResponse:
    if not model_admin.has_view_or_change_permission(request):
        raise PermissionDenied
    form = ExplainForm(request)
    if form.is_valid() and request.method == "POST" and (query := form.query()):
        return HttpResponseRedirect(f"{request.path}?{query}")
    context = {
        **own_page.context(model_admin, request, gettext("Explain")),
        "form": form,
        "then": _then(request, form.refusal) if form.refusal is not None else None,
        "has_no_link": request.method == "POST" and form.result is not None,
        **(_now(request, form.result) if form.result is not None else {}),
    }
    return TemplateResponse(request, "admin/ratewindow/explain/page.html", context)


def _then(request: HttpRequest, refusal: Refusal) -> Mapping[str, Any]:
    """What a code is about."""
    return {
        "code": refusal.code,
        "at": in_words.clock(time_zone.local(datetime.fromtimestamp(refusal.at_s, UTC))),
        "route": refusal.route,
        "by": [
            (each.rule, str(REFUSED.get(each.reason, each.reason)), each.window, display(request, each.identity))
            for each in refusal.by
        ],
    }


def _now(request: HttpRequest, found: Explanation) -> Mapping[str, Any]:
    """What is answered now, and what can be done about it."""
    addresses = dict(RateRule.objects.values_list("name", "pk"))
    lines = [_line(request, each, addresses) for each in found.lines]
    unmet, steps = [line for line in lines if line.effect == Effect.NOT_MET], in_words.steps(found)
    return {
        "found": found,
        "answer": in_words.answer(found),
        "with_shadow": in_words.with_shadow(found),
        "steps": [*enumerate(steps, 1)],
        "met": [line for line in lines if line.effect != Effect.NOT_MET],
        "first": len(steps) + 1,
        "unmet": unmet,
        "few": len(unmet) <= FEW,
        "actions": [*_actions(request, found, addresses)],
        "clock": in_words.clock(time_zone.local(found.at)),
    }


def _line(request: HttpRequest, line: Line, addresses: Mapping[str, int]) -> RuleLine:
    name, mode = line.rule.name, "code" if line.in_code else line.rule.mode
    pk = None if line.in_code else addresses.get(name)
    return RuleLine(
        name=name,
        url=reverse("admin:ratewindow_raterule_change", args=[pk]) if pk is not None else "",
        mode=mode,
        mode_label=str(_MODES[mode]),
        effect=line.effect,
        effect_label=str(rule_in_words.EFFECTS[line.effect]),
        why=rule_in_words.why(line),
        who=display(request, line.identity) if may_see(request) else "",  # the mask of what was typed could be found in lists
        uses=rule_in_words.uses(line),
        frees=rule_in_words.frees(line),
    )


def _actions(request: HttpRequest, found: Explanation, addresses: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    """Labels and addresses of the pages that let this client pass, or block it."""
    may_add, sees = request.user.has_perm("ratewindow.add_override"), may_see(request)
    refusing = next((line for line in found.lines if line.effect == Effect.REFUSES), None)
    rule = refusing.rule.name if refusing is not None else ""
    client = f"ip:{found.asked.address}" if found.asked.address else ""
    who = _typed(refusing.identity) if refusing is not None and refusing.identity else client
    if sees and who and not found.passes:
        if refusing is not None and request.user.has_perm("ratewindow.release_identity"):
            yield gettext("Release now…"), links.url(links.RELEASE, identity=who, rule=rule)
        if may_add:
            yield gettext("Exempt for 1 h…"), links.url(links.ADD, identity=who, rule=rule, action="allow", duration="1h")
    elif sees and client and may_add and not found.is_off:
        yield gettext("Block for 1 h…"), links.url(links.ADD, identity=client, action="block", duration="1h")
    for ruling, __ in found.overrides[:MOST_OVERRIDES]:
        yield str(_OPEN[ruling.action]), reverse("admin:ratewindow_override_change", args=[ruling.pk])
    if pk := addresses.get(rule):
        yield gettext("Open rule %s") % rule, reverse("admin:ratewindow_raterule_change", args=[pk])


_OPEN = {"allow": _("Open the exemption"), "block": _("Open the block"), "rate": _("Open the other rate")}


def _typed(identity: str) -> str:
    """An identity as a form takes it: without its lengths if it is understood so."""
    short = "+".join(split(identity))
    try:
        return short if parse_subject(short).text == identity else identity
    except ValueError:
        return identity
