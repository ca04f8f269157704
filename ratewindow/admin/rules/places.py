"""What the pattern of a rule is called, explained and asked for, by what the rule applies to; and what it may be on this site."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext_lazy as _

from ratewindow.rules import site_routes

MOST_SUGGESTED = 500


@dataclass(frozen=True)
class Place:
    """Lazy texts: the field's label, its help, and what is said where it is empty."""

    label: Any
    help: Any
    needed: Any


PLACES: Mapping[str, Place] = {
    "path": Place(
        _("Path"),
        _("Choose one of this site's paths, or write one as in /login/. It is met however a client spells it."),
        _("Enter a path, such as /login/."),
    ),
    "prefix": Place(
        _("Beginning"),
        _("Choose the beginning of paths, or write it as in /api/."),
        _("Enter the beginning of paths, such as /api/."),
    ),
    "regex": Place(
        _("Regular expression"),
        _("A regular expression is written as ^/api/v[0-9]+/."),
        _("Enter a regular expression, such as ^/api/v[0-9]+/."),
    ),
    "route": Place(
        _("URL name"),
        _("Choose a URL name of this site, or write one as in login or shop:checkout; a namespace as in shop."),
        _("Enter a URL name, such as login or shop:checkout."),
    ),
}


def suggestions() -> dict[str, list[str]]:
    """What a pattern may be on this site, by what the rule applies to; the pages of the admin last."""
    known = sorted(site_routes.routes(), key=lambda each: (each.way.is_of_admin, each.name, each.path))
    found = {
        "route": [each.name for each in known if each.name],
        "path": [each.path for each in known if each.is_whole],
        "prefix": [each.section for each in known if each.section.endswith("/")],
    }
    return {choice: list(dict.fromkeys(values))[:MOST_SUGGESTED] for choice, values in found.items()}
