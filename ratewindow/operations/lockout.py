"""Whether rules or a block would lock the people who edit them out of the admin, so that they can be warned first."""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from django.http import HttpRequest
from django.urls import URLResolver, get_resolver
from django.utils.regex_helper import normalize
from django.utils.translation import gettext, gettext_lazy as _, ngettext

from ratewindow.conf.in_words import duration
from ratewindow.identity.request_attributes import sent_to
from ratewindow.limiter.penalties import as_growing
from ratewindow.operations.rights import may_view_overrides
from ratewindow.overrides.lookup import ALLOW, BLOCK, Overrides, Ruling
from ratewindow.overrides.subjects import Subject
from ratewindow.rulebook import current
from ratewindow.rules.matching import Index
from ratewindow.rules.rule import Rule

# A page of the admin is one request, or a dozen where Django serves its static files; a person opens a few a minute.
FEW_UNITS, FEW_UNITS_LATER = 60, 600  # within minutes, and within hours or days
LATER_MS = 600_000
LONG_MS = 30_000
USUAL_STATUSES = {200, 302}  # of the admin's answers
_SAMPLES = {"app_label": "ratewindow"}  # instead of what a path captures; 1 for anything else
REMEDY = _(
    "Choose a narrower path or a higher limit, or exempt the people who work in the admin, such as group:staff, under Blocks and "
    "exemptions. If you are locked out, manage.py ratewindow mode RULE off lets you in."
)


def lockouts(rules: Iterable[Rule], request: HttpRequest) -> dict[str, str]:
    """The rules that would refuse the sender of this request in the admin once they are enforced, unless that person is exempt:
    by name, on which page and when."""
    index = Index([rule for rule in rules if not is_exempt(request, rule.name)])
    sentences: dict[str, str] = {}
    for visit in _visits(request):
        for rule in index.match(visit):
            if rule.name not in sentences and (when := _when(rule, visit)):
                sentences[rule.name] = gettext(
                    "Rule {name} matches {page}, a page of the admin: it would refuse you there {when}."
                ).format(name=rule.name, page=visit.path, when=when)
    return sentences


def contains_author(request: HttpRequest, subject: Subject) -> bool:
    """Whether a block of this subject would refuse this request, or another one that its sender makes in the admin."""
    user: Any = request.user
    groups = user.groups.values_list("name", flat=True) if hasattr(user, "groups") else ()  # a custom model may have none
    blocks = Overrides([(subject, Ruling(BLOCK))], lambda _: {f"user:{user.pk}": tuple(groups)})
    return any(map(blocks.of_request, chain([request], _visits(request))))


def _when(rule: Rule, visit: HttpRequest) -> str:
    """When this visit would be refused, ``after 3 requests in 1 minute`` or ``always``; empty if hardly ever."""
    if rule.soft or (rule.count_when is not None and USUAL_STATUSES.isdisjoint(rule.count_when.statuses)):
        return ""
    if rule.on_missing != "ip" and rule.recipe.identity(visit) is None:
        return gettext("without %s, which browsers do not send") % rule.key if rule.on_missing == "refuse" else ""
    for window in sorted(rule.windows, key=lambda each: each.period_ms):
        requests = window.limit // max(1, rule.cost)
        if not requests:
            return gettext("always")
        few = FEW_UNITS if window.period_ms < LATER_MS else FEW_UNITS_LATER
        if requests < few and max(window.period_ms, *as_growing(rule.penalty_ms).steps_ms) >= LONG_MS:
            return ngettext("after %(count)d request in %(period)s", "after %(count)d requests in %(period)s", requests) % {
                "count": requests,
                "period": duration(window.period_ms),
            }
    return ""


def _visits(request: HttpRequest) -> Iterator[HttpRequest]:
    """Requests for all pages of the admin, as the sender of this one would send them."""
    return (sent_to(page, request, method) for page in pages() for method in ("GET", "POST"))


def pages() -> list[str]:
    """The path of every page of the admin in the site's URLs; none on a site without the admin."""
    return list(dict.fromkeys(_pages(get_resolver(), "/", inside=False)))


def _pages(resolver: URLResolver, before: str, inside: bool) -> Iterator[str]:
    for child in resolver.url_patterns:
        for path in _samples(child.pattern):
            if isinstance(child, URLResolver):
                yield from _pages(child, before + path, inside or child.app_name == "admin")
            elif inside:
                yield before + path


def _samples(pattern: Any) -> list[str]:
    """Texts that pass a pattern, as `reverse` would write them."""
    return [text % {name: _SAMPLES.get(name, "1") for name in names} for text, names in normalize(pattern.regex.pattern)]


def is_exempt(request: HttpRequest, rule: str) -> bool:
    """Whether the user of this request is exempt from a rule, and may know that."""
    held = current.rulebook().overrides if may_view_overrides(request.user) else None
    return held is not None and any(each.action == ALLOW and each.rule in ("", rule) for each in held.of_request(request))
