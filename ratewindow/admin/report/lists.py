"""The lists below the rules: routes and user agents of refused requests, and the busiest clients."""

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from django.http import HttpRequest
from django.utils.translation import gettext

from ratewindow.admin.addresses import reverse
from ratewindow.admin.masking import display
from ratewindow.reporting.about_request import NO_ROUTE, method_and_path
from ratewindow.reporting.offenders import Name, Offenders
from ratewindow.reporting.summary import number, percent

MOST = 10  # of each list


@dataclass(frozen=True)
class Entry:
    name: str
    count: str
    share: str
    url: str = ""


@dataclass(frozen=True)
class EntryList:
    heading: str
    what: str  # is counted
    entries: Sequence[Entry]
    link: str = ""  # of entries that have an address


def lists(request: HttpRequest, found: Offenders) -> list[EntryList]:
    """Those that have entries."""
    total = found.total.refused + found.total.would_refuse
    may_add = request.user.has_perm("ratewindow.add_raterule")

    def entry(name: Name, url: str = "") -> Entry:
        count = name.refused + name.would_refuse
        return Entry(_shown(name.value), number(count), percent(count, total), url)

    refused, met = gettext("Refused, or would be"), gettext("Requests")
    made = [
        EntryList(
            gettext("Routes most refused"),
            refused,
            [entry(name, rule_url(name.value) if may_add else "") for name in found.routes.most[:MOST]],
            gettext("Make a rule"),
        ),
        EntryList(gettext("User agents most refused"), refused, [entry(name) for name in found.agents.most[:MOST]]),
        EntryList(
            gettext("Busiest clients"),
            met,
            [
                Entry(display(request, name.value), number(name.met), percent(name.met, found.total.met))
                for name in found.busiest[:MOST]
                if name.met
            ],
        ),
    ]
    return [each for each in made if each.entries]


def rule_url(route: str) -> str:
    """The form of a new rule for this route, ``POST /login/``; empty if the route has parts that vary, or is none."""
    method, path = method_and_path(route)
    if not path:
        return ""
    return f"{reverse('admin:ratewindow_raterule_add')}?{urlencode({'applies_to': 'path', 'pattern': path, 'methods': method})}"


def _shown(name: str) -> str:
    return name.replace(NO_ROUTE, gettext("no view")) if name.endswith(NO_ROUTE) else name
