"""Who is refused, as the report page lists it: networks with their clients, then other clients, those most refused first."""

from dataclasses import dataclass, field, replace

from django.http import HttpRequest
from django.utils.translation import gettext

from ratewindow import conf
from ratewindow.admin.masking import display, may_see
from ratewindow.admin.report.acts import Act, about_client, explain_url, may_act_on, release_url
from ratewindow.reporting.how_many import in_a_sentence, of_several
from ratewindow.reporting.offenders import Name, Offenders
from ratewindow.reporting.summary import number, percent

MOST = 10  # networks, and clients of none of these


@dataclass(frozen=True)
class Line:
    who: str
    note: str  # how many clients a network or an address has, or that a client was signed in
    refused: str
    share: str  # of all requests that were refused, or would have been
    would_refuse: str
    acts: list[Act] = field(default_factory=list)
    identity: str = ""  # for links; empty for readers who may not see it
    release_url: str = ""  # of a client or an address alone
    explain_url: str = ""
    counts: str = ""  # of a client: how often it was refused, or would have been
    members: list["Line"] = field(default_factory=list)  # clients of a network or an address


@dataclass(frozen=True)
class WhoIsRefused:
    about: str  # how many clients, in a sentence
    lines: list[Line]
    bound: str  # by how much any number may be too small; empty if all are exact
    masked: str  # what is not shown, and why; empty if all is


def who_is_refused(request: HttpRequest, found: Offenders) -> WhoIsRefused | None:
    """None if nobody is. Identities are masked for users who may not see them."""
    if not found.clients.most and not found.networks.most:
        return None
    total = found.total.refused + found.total.would_refuse

    routes = [each.value for each in found.routes.most]
    route = routes[0] if len(routes) == 1 and not found.routes.bound.rank else ""  # of several it is not known whose is which

    def line(name: Name, note: str, is_client: bool = False) -> Line:
        share = percent(name.refused + name.would_refuse, total)
        shown = may_act_on(request, name.value)
        reason = gettext("Refused %s times") % number(name.refused + name.would_refuse)
        return Line(
            display(request, name.value),
            note,
            number(name.refused),
            share,
            number(name.would_refuse),
            about_client(request, name.value, reason),
            name.value if shown else "",
            release_url(request, name.value) if is_client else "",
            explain_url(request, name.value, route) if is_client else "",
            _counts(name) if is_client else "",
        )

    listed = {name.value for name in found.networks.most[:MOST]}
    apart, members = list[Line](), dict[str, list[Line]]()
    for name in found.clients.most:
        made = line(name, gettext("signed in") if name.signed_in else "", is_client=True)
        (members.setdefault(name.network, []) if name.network in listed else apart).append(made)
    networks = [
        replace(line(name, of_several(name), bool(name.network)), members=members.get(name.value, []))
        for name in found.networks.most[:MOST]
    ]
    bound = max(found.clients.bound.rank, found.networks.bound.rank)
    return WhoIsRefused(
        about=in_a_sentence(found),
        lines=[*networks, *apart[:MOST]],
        bound=number(bound) if bound else "",
        masked=_masked(request),
    )


def _counts(name: Name) -> str:
    """``"30 refused, 12 would be"``, without what there is none of."""
    values = {"refused": number(name.refused), "would": number(name.would_refuse)}
    if not name.would_refuse:
        return gettext("%(refused)s refused") % values
    return (
        gettext("%(refused)s refused, %(would)s would be") if name.refused else gettext("%(would)s would be refused")
    ) % values


def _masked(request: HttpRequest) -> str:
    if not may_see(request):
        return gettext("Identities are masked: to see them takes the permission view_identity.")
    if conf.current().anonymize == "all":
        return gettext("ANONYMIZE is “all”: clients are stored only as hashes, and blocks of a hash hold; networks are in full.")
    return ""
