"""Links between a rule, the blocks and exemptions that name it, and the clients of these."""

from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest
from django.utils.translation import gettext

from ratewindow.admin import explain_links
from ratewindow.admin.addresses import reverse
from ratewindow.admin.masking import may_see
from ratewindow.models import Override, RateRule
from ratewindow.operations.staff import may_view_overrides
from ratewindow.overrides.subjects import parse_subject

LIST, ADD = "admin:ratewindow_override_changelist", "admin:ratewindow_override_add"
RELEASE = "admin:ratewindow_override_release"


def url(page: str, **given: str) -> str:
    """The list, the form or the release page with these values; the form takes `identity`, `rule`, `action` and `duration`."""
    values = {name: value for name, value in given.items() if value}
    return f"{reverse(page)}?{urlencode(values)}" if values else reverse(page)


def of_rule(request: HttpRequest, rule: RateRule) -> dict[str, Any]:
    """What ``override/of_rule.html`` shows: how many name this rule, if this person may see them."""
    if not may_view_overrides(request):
        return {}
    return {
        "count": Override.objects.get_queryset().not_ended().filter(rule=rule.name).count(),
        "list_url": url(LIST, rule=rule.name),
        "add_url": url(ADD, rule=rule.name) if _may(request, "add") else "",
    }


def of_override(request: HttpRequest, override: Override) -> list[tuple[str, str]]:
    """Labels and addresses of the rule that it names, and of what can be done about its client."""
    links = []
    if override.rule and request.user.has_perm("ratewindow.view_raterule"):
        rules = RateRule.objects.filter(name=override.rule).values_list("pk", flat=True)
        links += [(gettext("Rule %s") % override.rule, reverse("admin:ratewindow_raterule_change", args=[pk])) for pk in rules]
    if (
        may_see(request)
        and request.user.has_perm("ratewindow.view_raterule")
        and (address := explain_links.of_override(override))
    ):
        links.append((gettext("Explain"), address))
    identity = _typed(override) if may_see(request) else ""
    if identity and request.user.has_perm("ratewindow.release_identity"):
        links.append((gettext("Release this client…"), url(RELEASE, identity=identity, rule=override.rule)))
    if identity and _may(request, "add"):
        links.append((gettext("Another one for this client…"), url(ADD, identity=identity, rule=override.rule)))
    return links


def _typed(override: Override) -> str:
    """The identity as a form takes it; empty if it is only a hash, or invalid."""
    try:
        subject = parse_subject(override.identity)
    except ValueError:
        return ""
    return "" if subject.hashed else override.identity


def _may(request: HttpRequest, verb: str) -> bool:
    return request.user.has_perm(f"ratewindow.{verb}_override")
