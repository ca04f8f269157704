"""The columns of the list of blocks and exemptions."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from ratewindow.admin.addresses import reverse
from ratewindow.admin.masking import may_see
from ratewindow.admin.wording import ago, origin
from ratewindow.admin.wording import until as until_in_words
from ratewindow.conf import time_zone
from ratewindow.models import Override
from ratewindow.overrides.subjects import in_words, veiled

_ACTIONS = {"allow": _("Exempt"), "block": _("Block"), "rate": _("Rate")}


@admin.display(description=_("action"), ordering="action")
def action_badge(override: Override) -> SafeString:
    state = override.state.replace(" ", "-")
    words = f"{override.rate}" if override.action == "rate" else _ACTIONS.get(override.action, override.action)
    return format_html('<span class="rw-mode rw-{} rw-{}">{}</span>', override.action, state, words)


@admin.display(description=_("who"), ordering="identity")
def row_in_full(override: Override) -> SafeString:
    return _row(override, in_words(override.identity))


@admin.display(description=_("who"))
def row_masked(override: Override) -> SafeString:
    return _row(override, veiled(override.identity))


def row(request: HttpRequest) -> Any:
    """The column of who it is for and why, as this user may see it."""
    return row_in_full if may_see(request) else row_masked


@admin.display(description=_("until"), ordering="expires_at")
def until(override: Override) -> SafeString:
    at = override.starts_at if override.state == "waiting" else override.expires_at
    words = format_html('<span class="rw-{}">{}</span>', override.state.replace(" ", "-"), until_in_words(override))
    if at is None:
        return words
    local = time_zone.local(at)
    exact = (local.isoformat(timespec="seconds"), f"{local:%Y-%m-%d %H:%M:%S %Z}", time_zone.in_short(at))
    return format_html('{} <time class="rw-sentence" datetime="{}" title="{}">{}</time>', words, *exact)


@admin.display(description=_("end"))
def quick(override: Override) -> SafeString:
    """Buttons that submit the form around the list, with its CSRF token, to their own URLs."""
    if override.state == "ended":
        return SafeString('<span class="rw-quick"></span>')  # Django shows a dash for an empty string
    buttons = [("end", gettext("End now"))] + ([("extend", gettext("+ 1 h"))] if override.expires_at else [])
    links = ((reverse(f"admin:ratewindow_override_{name}", args=[override.pk]), label) for name, label in buttons)
    shown = format_html_join("", '<button type="submit" class="button" formaction="{}">{}</button>', links)
    return format_html('<span class="rw-quick">{}</span>', shown)


@admin.display(description=_("who"))
def who_in_full(override: Override) -> str:
    return in_words(override.identity)


@admin.display(description=_("who"))
def who_masked(override: Override) -> str:
    return veiled(override.identity)


def who(request: HttpRequest) -> Any:
    """The field of who it is for, as this user may see it."""
    return who_in_full if may_see(request) else who_masked


@admin.display(description=_("made"))
def made_by(override: Override) -> str:
    return gettext("%(origin)s, %(ago)s") % {"origin": origin(override), "ago": ago(override.created_at)}


def _row(override: Override, who: str) -> SafeString:
    details = [_effect(override), override.reason, made_by(override)]
    return format_html(
        '<strong class="rw-who">{}</strong> <span class="rw-sentence">{}</span>', who, " · ".join(filter(None, details))
    )


def _effect(override: Override) -> str:
    rule = override.rule
    match override.action:
        case "block":
            return gettext("refused where rule %s applies") % rule if rule else gettext("refused everywhere")
        case "allow":
            return gettext("exempt from rule %s") % rule if rule else gettext("exempt from all rules")
        case _:
            values = {"rate": override.rate, "rule": rule}
            if rule:
                return gettext("%(rate)s instead of the limits of rule %(rule)s") % values
            return gettext("%(rate)s instead of the limits of all rules") % values
