"""Limits proposed by what clients have sent: for a rule in shadow, on its page, and for a new rule from a request."""

from collections.abc import Iterable, Iterator, Sequence
from urllib.parse import urlencode

from django.http import HttpRequest
from django.utils.timesince import timesince
from django.utils.translation import gettext

from ratewindow.admin.base import reverse
from ratewindow.admin.rules.new_rules import add_url, limit_values
from ratewindow.admin.state import glance
from ratewindow.admin.wording import limit_in_words
from ratewindow.conf import in_words, time_zone
from ratewindow.identity.request_attributes import match_of
from ratewindow.limiter.rates import parse_rates
from ratewindow.limiter.types import Window
from ratewindow.models import Mode, RateRule
from ratewindow.report.proposal import Proposal, propose, propose_by
from ratewindow.report.report import Waiting
from ratewindow.rooms import Link
from ratewindow.rulebook import reading
from ratewindow.rules.rule import Rule
from ratewindow.start.presets import free_name

START = "60/m"  # of a rule for requests of which nothing is known


def lower_limits(request: HttpRequest, row: RateRule, known: Waiting) -> tuple[str, Link] | None:
    """What clients sent to a rule in shadow that could have lower limits, and the link to its form with these."""
    if row.mode != Mode.SHADOW:
        return None
    try:
        found = propose(reading.freeze(row), time_zone.now(), known)
    except ValueError:  # an invalid row, which raw SQL has written
        return None
    if found is None or found.windows == found.rule.windows:  # none is higher
        return None
    form = f"{reverse('admin:ratewindow_raterule_change', [row.pk], request)}?{urlencode(limit_values(found.windows))}"
    return _sent(found), Link(form, gettext("With headroom: use %s…") % _limits(found.windows))


def for_requests_like(request: HttpRequest, asked: HttpRequest, matching: Iterable[Rule]) -> Iterator[Link]:
    """To the form of a new rule for the route of `asked`, with limits by what is known of the rules that match it; or to the rule
    for its path that waits in shadow."""
    rules = list(matching)
    own = [rule.name for rule in rules if rule.mode == Mode.SHADOW and rule.applies_to not in ("all", "named")]
    row = RateRule.objects.filter(name__in=own).first()
    if row is not None:
        look = reverse("admin:ratewindow_raterule_look", [row.pk], request)
        yield Link(look, gettext("%s already waits in shadow: open it") % row.name)
    elif request.user.has_perm("ratewindow.add_raterule"):
        found = propose_by(rules, time_zone.now(), glance(request).last_hour.known)
        yield Link(_form_of(asked, found), gettext("Make a rule for this…"))


def _form_of(asked: HttpRequest, found: Proposal | None) -> str:
    match = match_of(asked)
    name = match.view_name if match is not None else ""
    target = {"applies_to": "route", "pattern": name} if name else {"applies_to": "path", "pattern": asked.path_info}
    return add_url(
        {
            "name": free_name(target["pattern"]),
            **target,
            "methods": "" if asked.method in ("GET", "HEAD") else asked.method,
            "key": found.rule.key if found else "user_or_ip",
            "description": _reason(found),
        },
        found.windows if found else parse_rates(START),
    )


def _reason(found: Proposal | None) -> str:
    if found is None:
        return gettext("It is not known yet how much clients send here: look again after a day in shadow.")
    return f"{_sent(found)} {gettext('With headroom that is %s.') % _limits(found.windows)}"


def _sent(found: Proposal) -> str:
    but_for_some = gettext(
        "In %(time)s, %(requests)s requests were counted under the limits of %(rule)s. But for %(above)s of them, no client "
        "had sent more than %(most)s."
    )
    of_all = gettext(
        "In %(time)s, %(requests)s requests were counted under the limits of %(rule)s. No client had sent more than %(most)s."
    )
    return in_words.filled(
        but_for_some if found.above else of_all,
        time=timesince(found.since, depth=1),
        rule=found.rule.name,
        requests=found.requests,
        above=found.above,
        most=_limits(found.most),
    )


def _limits(windows: Sequence[Window]) -> str:
    return gettext(" and ").join(map(limit_in_words, windows))
