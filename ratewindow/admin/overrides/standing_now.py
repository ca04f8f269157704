"""How a client stands, on the page that releases it: what each rule has counted, what is in force, and what can be done."""

from typing import Any

from django.http import HttpRequest
from django.utils.translation import gettext, ngettext

from ratewindow.admin import explain_links
from ratewindow.admin.addresses import reverse
from ratewindow.admin.masking import may_look_up
from ratewindow.admin.overrides import links, who
from ratewindow.conf.translation import translated
from ratewindow.models import Mode, RateRule
from ratewindow.operations import client_rules
from ratewindow.operations.explain.rule_in_words import frees_in, used
from ratewindow.operations.override_notes import until
from ratewindow.operations.standing import Standing, standing
from ratewindow.overrides.as_typed import as_subject
from ratewindow.overrides.subjects import in_words


def context(request: HttpRequest) -> dict[str, Any]:
    """What ``override/standing.html`` shows of the client in the page's address; empty without one."""
    typed = request.GET.get("identity", "").strip()
    if not typed:
        return {}
    try:
        identity = as_subject(typed, find_users=who.may_view_users(request))
        found = standing(identity, request.GET.get("rule", ""), with_overrides=may_look_up(request))
    except ValueError as error:
        return {"problem": f"{translated(error)}."}
    return {
        "who": in_words(identity),
        "overrides": _overrides(found),
        "hides_overrides": not may_look_up(request),
        "rules": _rules(request, identity, found),
        "others": _others(found),
        "ways": _ways(request, identity),
    }


def _overrides(found: Standing) -> list[dict[str, Any]]:
    return [
        {
            "action": each.get_action_display(),
            "who": in_words(each.identity),
            "rule": each.rule or gettext("all rules"),
            "rate": each.rate,
            "until": until(each),
            "reason": each.reason,
            "url": reverse("admin:ratewindow_override_change", args=[each.pk]),
        }
        for each in found.overrides
    ]


def _rules(request: HttpRequest, identity: str, found: Standing) -> list[dict[str, Any]]:
    may_view, may_release = (request.user.has_perm(f"ratewindow.{each}") for each in ("view_raterule", "release_identity"))
    keys = dict(RateRule.objects.values_list("name", "pk")) if may_view and found.rules else {}
    modes = dict(Mode.choices)
    return [
        {
            "name": each.rule.name,
            "url": reverse("admin:ratewindow_raterule_change", args=[keys[each.rule.name]]) if each.rule.name in keys else "",
            "mode": modes[each.decision.mode],
            "refuses": not each.decision.allowed,
            "used": [used(answer) for answer in each.windows],
            "frees": frees_in(each.decision),
            "release": links.url(links.RELEASE, identity=identity, rule=each.rule.name) if may_release else "",
        }
        for each in found.rules
    ]


def _others(found: Standing) -> str:
    if found.away:
        return gettext("Its counts are not known: Redis does not answer.")
    if not found.counts:
        return gettext("It is no single client, so it has no counts.")
    if found.rules and not found.others:
        return ""
    text = ngettext(
        "Nothing is counted for it under %(count)d other rule.",
        "Nothing is counted for it under %(count)d other rules.",
        found.others,
    )
    return text % {"count": found.others}


def _ways(request: HttpRequest, identity: str) -> list[tuple[str, str]]:
    """Labels and addresses of what else can be done about the client."""
    ways = []
    if request.user.has_perm("ratewindow.add_override"):
        labels = (
            ("block", gettext("Block for 1 hour…")),
            ("allow", gettext("Exempt for 1 hour…")),
            ("rate", gettext("Another rate for 1 hour…")),
        )
        ways += [(label, links.url(links.ADD, identity=identity, action=action, duration="1h")) for action, label in labels]
    if request.user.has_perm("ratewindow.view_raterule") and (
        address := explain_links.of_subject(client_rules.subject_of(identity))
    ):
        ways.append((gettext("Explain"), address))
    return ways
