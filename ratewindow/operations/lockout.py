"""Whether rules would lock the people who edit rules out of the admin, so that they can be asked first."""

from collections.abc import Collection, Iterable, Iterator
from copy import copy
from dataclasses import dataclass, replace

from django.contrib.auth import get_user_model
from django.http import HttpRequest
from django.urls import get_script_prefix
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from ratewindow import conf
from ratewindow.conf import time_zone
from ratewindow.conf.in_words import duration
from ratewindow.identity.proxy_warning import is_forwarded_unread
from ratewindow.operations import staff
from ratewindow.overrides import ALLOW, users
from ratewindow.reporting.periods import last
from ratewindow.reporting.report import Report, report
from ratewindow.reporting.summary import number
from ratewindow.reporting.sums import NOTHING
from ratewindow.request import admin_pages
from ratewindow.request.admin_pages import Page
from ratewindow.rulebook import current
from ratewindow.rules.matching import Index
from ratewindow.rules.rule import Rule
from ratewindow.store import state_keys

# A page of the admin is one request, or a dozen where Django serves its static files; a person opens a few a minute.
FEW_UNITS, FEW_UNITS_LATER = 60, 600  # within minutes, and within hours or days
SHARED = 10  # times as many where all visitors have one count together
LATER_MS = 600_000
LONG_MS = 30_000
USUAL_STATUSES = {200, 302}  # of the admin's answers


@dataclass(frozen=True)
class Lockout:
    """A rule that would refuse people who edit rules: on which pages of the admin, when, and who."""

    rule: Rule
    pages: tuple[str, ...]
    when: str  # ``after 3 requests in 1 minute``, ``always``, or ``without header:x-key, which browsers do not send``
    others: bool = False  # the author is exempt, and all other staff would be refused
    rate: str = ""  # of a block or exemption, where that replaces the limits of the rule
    shared: bool = False  # all visitors have one count together

    def same_as(self, other: "Lockout | None") -> bool:
        """Whether staff are refused on the same pages, as early."""
        return other is not None and (self.pages, self.when, self.others) == (other.pages, other.when, other.others)

    def __str__(self) -> str:
        """``Rule api meets /admin/ and 40 more pages of the admin. You would be refused there after 5 requests in 1 minute.``"""
        first, others = self.pages[0], len(self.pages) - 1
        if others:
            meets = ngettext(
                "Rule {name} meets {page} and {count} more page of the admin.",
                "Rule {name} meets {page} and {count} more pages of the admin.",
                others,
            )
        else:
            meets = gettext("Rule {name} meets {page}, a page of the admin.")
        cause = "rate" if self.rate else "" if self.rule.mode == "enforce" else "later"
        refused = str(_REFUSED[cause, self.others])
        parts = [
            meets.format(name=self.rule.name, page=first, count=others),
            refused.format(when=self.when, rate=self.rate),
        ]
        if self.shared:
            parts.append(gettext("All visitors have one count together."))
        if self.rule.applies_to == "all":
            parts.append(gettext("Static files that Django serves count, too."))
        return " ".join(parts)


_REFUSED = {
    ("", False): _("You would be refused there {when}."),
    ("", True): _("All other staff would be refused there {when}."),
    ("later", False): _("Once it is enforced, you would be refused there {when}."),
    ("later", True): _("Once it is enforced, all other staff would be refused there {when}."),
    ("rate", False): _("At the rate {rate}, you would be refused there {when}."),
    ("rate", True): _("At the rate {rate}, all other staff would be refused there {when}."),
}
REMEDY = _(
    "Choose a narrower path or a higher limit, or exempt the people who work in the admin, such as group:staff, under Blocks and "
    "exemptions."
)


def way_out(rule: str) -> str:
    """What to do when locked out."""
    return gettext("If you are locked out, %s lets you in.") % command(rule)


def command(rule: str) -> str:
    """What to type to switch that rule off."""
    return f"manage.py ratewindow mode {rule} off"


def lockouts(rules: Iterable[Rule], request: HttpRequest | None = None, ended: Collection[int] = ()) -> list[Lockout]:
    """The lockouts that these rules would cause once they are enforced.

    `request` is one of the person who edits; without it, an invented one of a signed-in user is tested. `ended` are the primary
    keys of exemptions that hold no longer.
    """
    index, found = Index(rules), dict[str, Lockout]()
    for page in admin_pages.pages():
        path, met = get_script_prefix() + page.path.removeprefix("/"), set[str]()
        for visit in _visits(page, request):
            for rule in index.match(visit):
                if rule.name in met or not (why := _why(rule, visit, page, request is not None)):
                    continue
                met.add(rule.name)
                known = found.get(rule.name) or Lockout(rule, (), why, shared=_is_shared(rule, visit))
                found[rule.name] = replace(known, pages=(*known.pages, path))
    if request is None:
        return list(found.values())
    exempting = exemptions(request, ended)
    return [each for lockout in found.values() if (each := _without_exempt(lockout, request, exempting))]


def exemptions(request: HttpRequest, ended: Collection[int] = ()) -> dict[str, set[int]]:
    """The exemptions of the user of this request, without those that have `ended`: primary keys by rule.

    None of a person who may not know of exemptions, who is warned as if there were none.
    """
    held, found = current.rulebook().overrides if staff.may_view_overrides(request) else None, dict[str, set[int]]()
    for ruling in held.of_request(request) if held is not None else ():
        if ruling.action == ALLOW and ruling.pk not in ended:
            found.setdefault(ruling.rule, set()).add(ruling.pk)
    return found


def _without_exempt(lockout: Lockout, request: HttpRequest, exempting: dict[str, set[int]]) -> Lockout | None:
    """The lockout of those whom no exemption reaches: of the author, or of all other staff."""
    pks = exempting.get("", set()) | exempting.get(lockout.rule.name, set())
    if not pks:
        return lockout
    return None if staff.exempts_others(request, pks) else replace(lockout, others=True)


def last_hour(name: str, found: Report | None = None) -> str:
    """A sentence about what enforcing a rule would have refused in the last hour; `found` is a report of it, if at hand."""
    found = found or report(last("1h", time_zone.now(), conf.current().retention))
    sums = found.rules.get(name, NOTHING)
    if not sums.met and not found.live:
        return gettext("Without Redis it is not known what it met in the last hour.")
    if not sums.met:
        return gettext("In the last hour no request met it.")
    values = {"met": number(sums.met), "refused": number(sums.refused), "would": number(sums.would_refuse)}
    if sums.refused:
        return gettext("In the last hour it met %(met)s requests, and refused %(refused)s.") % values
    return gettext("In the last hour it met %(met)s requests, and would have refused %(would)s.") % values


def _why(rule: Rule, visit: HttpRequest, page: Page, is_real: bool) -> str:
    """When this visit would be refused; empty if hardly ever. Of one that `is_real` it is known whether it is among those
    clients for whom the rule is enforced."""
    shared, of_logins = _is_shared(rule, visit), False
    if rule.count_when is not None and rule.count_when.login_failed:
        if not shared or page.name != "login":
            return ""
        of_logins = True
    elif rule.count_when is not None and USUAL_STATUSES.isdisjoint(rule.count_when.statuses):
        return ""
    identity = _identity(rule, visit)
    if is_real and identity and rule.mode == "enforce" and not rule.enforces(state_keys.client_tag(identity)):
        return ""
    if rule.on_missing != "ip" and identity is None:
        return gettext("without %s, which browsers do not send") % rule.key if rule.on_missing == "refuse" else ""
    for window in sorted(rule.windows, key=lambda each: each.period_ms):
        requests = window.limit // max(1, rule.cost)
        if not requests:
            return gettext("always")
        few = (FEW_UNITS if window.period_ms < LATER_MS else FEW_UNITS_LATER) * (SHARED if shared else 1)
        if requests < few and max(window.period_ms, rule.penalty_ms) >= LONG_MS:
            values = {"count": number(requests), "period": duration(window.period_ms)}
            if of_logins:
                text = ngettext(
                    "after %(count)s failed login in %(period)s", "after %(count)s failed logins in %(period)s", requests
                )
            else:
                text = ngettext("after %(count)s request in %(period)s", "after %(count)s requests in %(period)s", requests)
            return text % values
    return ""


def _is_shared(rule: Rule, visit: HttpRequest) -> bool:
    """Whether all visitors have one count: everybody together, or each address behind a proxy that is not trusted."""
    parts = {part.strip() for part in rule.key.split("+")}
    return parts == {"global"} or (parts <= {"global", "ip"} and is_forwarded_unread(visit.META))


def visits(request: HttpRequest) -> Iterator[HttpRequest]:
    """Requests for every page of the admin, as the sender of this request would send them."""
    for page in admin_pages.pages():
        yield from _visits(page, request)


def _visits(page: Page, request: HttpRequest | None) -> Iterator[HttpRequest]:
    """Requests for a page: anonymous ones at the login page, elsewhere those of the person who edits rules."""
    for method in ("GET", "POST"):
        visit = HttpRequest() if request is None else copy(request)
        visit.method, visit.path, visit.path_info, visit.resolver_match = method, page.path, page.path, None
        vars(visit).pop("_ratewindow_match", None)
        if request is None:
            visit.META = {"REMOTE_ADDR": "192.0.2.1", "SERVER_NAME": "testserver", "SERVER_PORT": "80"}
            visit.user = get_user_model()(pk=1)
        if page.name == "login":
            visit.user = users.anonymous()
        yield visit


def _identity(rule: Rule, visit: HttpRequest) -> str | None:
    """The client as the rule sees it in this visit; empty if that is not known, None if its key is missing."""
    if "session" in rule.key.split("+") and not hasattr(visit, "session"):
        return ""
    try:
        return rule.recipe.identity(visit)
    except Exception:  # a function of the site's own, which may need a real request
        return ""
