"""What can be done about what the report says: about a rule that refuses nearly everybody, about a client, about a rule."""

from typing import Any, NamedTuple

from django.http import HttpRequest
from django.utils.translation import gettext

from ratewindow.admin.base import reverse
from ratewindow.admin.overrides.client import ADD, of_client, scaled, url
from ratewindow.admin.state import glance
from ratewindow.health import overview
from ratewindow.models import Mode, RateRule
from ratewindow.operations.rights import may, may_see
from ratewindow.overrides.subjects import EVERYBODY, masked
from ratewindow.report.reading import Reading
from ratewindow.report.spells import REFUSED, Spell
from ratewindow.rooms import Link


class Remedies(NamedTuple):
    """`to_shadow` is the address of a form with one button."""

    to_shadow: str = ""
    links: tuple[Link, ...] = ()


def remedies(request: HttpRequest, reading: Reading) -> Remedies:
    """Of the first spell: for a mistake in its rule what ends that, else what helps or stops who is behind it."""
    if reading.behind is None:
        return Remedies()
    spell, who = reading.spells[0], reading.behind.value
    if spell.everybody is not None or is_proxy(request, who):
        return _of_mistake(request, spell) if spell.outcome == REFUSED else Remedies()
    return Remedies(links=(*(on_client(request, who, spell.rule) if who else ()), *on_rule(request, spell.rule)))


def _of_mistake(request: HttpRequest, spell: Spell) -> Remedies:
    row: Any = RateRule.objects.filter(name=spell.rule).first()
    if row is None:  # a rate in code, which a rule replaces
        rules = reverse("admin:ratewindow_raterule_changelist", request=request)
        return Remedies(links=(Link(f"{rules}#rw-in-code", gettext("Edit here")),))
    if not request.user.has_perm("ratewindow.change_raterule"):
        return Remedies()
    look = Link(reverse("admin:ratewindow_raterule_look", [row.pk], request), gettext("Open rule"))
    if not spell.ongoing:
        return Remedies(links=(look,))
    edit = spell.everybody.edit if spell.everybody else None
    undo = [Link(edit.url, gettext("Undo that edit…"))] if edit and edit.url else []
    form = Link(reverse("admin:ratewindow_raterule_change", [row.pk], request), gettext("Raise…"))
    to_shadow = reverse("admin:ratewindow_raterule_mode", [row.pk], request) if row.mode == Mode.ENFORCE else ""
    return Remedies(to_shadow, (*undo, form, look))


def is_proxy(request: HttpRequest, identity: str) -> bool:
    return overview.is_proxy(glance(request).status["processes"], identity)


def on_client(request: HttpRequest, identity: str, rule: str = "") -> list[Link]:
    """None where the reader may not see the client; a network is shown to all. Nor for a proxy."""
    if is_proxy(request, identity):
        return []
    return of_client(request, identity, rule) if may_see(request.user) or masked(identity) == identity else []


def on_rule(request: HttpRequest, rule: str) -> list[Link]:
    """Half of what the rule allows, for everybody; that takes the permission to switch all limits off."""
    rate = scaled(rule, 1 / 2)
    if not rate or not request.user.has_perm("ratewindow.add_override") or not may(request.user, "switch_limits"):
        return []
    form = url(request, ADD, identity=EVERYBODY, action="rate", rule=rule, rate=rate, lasts="1h")
    return [Link(form, gettext("Tighten %s for everybody…") % rule, harms=True, short=gettext("Tighten…"))]
