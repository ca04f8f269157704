"""Limits proposed by what clients have sent: for a rule in shadow, on its page, and for a new rule from a request."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest
from django.utils.timesince import timesince
from django.utils.translation import gettext

from ratewindow.admin.base import reverse
from ratewindow.admin.rules.new_rules import add_url, limit_values
from ratewindow.admin.rules.rollout import report_for
from ratewindow.admin.wording import limit_in_words
from ratewindow.conf import time_zone
from ratewindow.conf.in_words import filled
from ratewindow.identity.request_attributes import match_of
from ratewindow.limiter.rates import parse_rates
from ratewindow.limiter.types import Window
from ratewindow.models import Mode, RateRule
from ratewindow.report.proposal import Proposal, propose
from ratewindow.report.report import Waiting
from ratewindow.rooms import Link
from ratewindow.rulebook import reading
from ratewindow.rules.rule import Rule
from ratewindow.start.presets import free_name

START = "60/m"  # of a rule for requests of which nothing is known


def lower_limits(request: HttpRequest, row: RateRule, known: Waiting) -> tuple[str, Link] | None:
    """Why a rule in shadow could have lower limits, and the link to its form with these."""
    found = None
    with suppress(ValueError):  # an invalid row, which raw SQL has written
        found = propose(reading.freeze(row), time_zone.now(), known) if row.mode == Mode.SHADOW else None
    if found is None or not found.is_lower:
        return None
    form = f"{reverse('admin:ratewindow_raterule_change', [row.pk], request)}?{urlencode(limit_values(found.windows))}"
    return _sent(found), Link(form, gettext("With headroom: use %s…") % _limits(found.windows))


def rule_for(request: HttpRequest, asked: HttpRequest, matching: Iterable[Rule]) -> Link | None:
    """A link to the form of a new rule for requests like `asked`, with limits by what is known of the rule that matches it and
    the fewest others; to the rule that waits in shadow, if there is one for its path."""
    rules = list(matching)
    own = [rule.name for rule in rules if rule.mode == Mode.SHADOW and rule.applies_to not in ("all", "named")]
    for row in RateRule.objects.filter(name__in=own)[:1]:
        look = reverse("admin:ratewindow_raterule_look", [row.pk], request)
        return Link(look, gettext("%s already waits in shadow: open it") % row.name)
    if not request.user.has_perm("ratewindow.add_raterule"):
        return None
    match, narrowest = match_of(asked), max(rules, key=lambda rule: len(rule.pattern), default=None)
    found = propose(narrowest, time_zone.now(), report_for(request).known) if narrowest is not None else None
    name = match.view_name if match is not None else ""
    target = {"applies_to": "route", "pattern": name} if name else {"applies_to": "path", "pattern": asked.path_info}
    fields: dict[str, Any] = {
        "name": free_name(target["pattern"]),
        **target,
        "methods": "" if asked.method in ("GET", "HEAD") else asked.method,
        "key": found.rule.key if found else "user_or_ip",
        "description": _reason(found),
    }
    return Link(add_url(fields, found.windows if found else parse_rates(START)), gettext("Make a rule for this…"))


def _reason(found: Proposal | None) -> str:
    if found is None:
        return gettext("It is not known yet how much clients send here: look again after a day in shadow.")
    return f"{_sent(found)} {gettext('With headroom that is %s.') % _limits(found.windows)}"


def _sent(found: Proposal) -> str:
    values: dict[str, Any] = {
        "time": timesince(found.since, depth=1),
        "rule": found.rule.name,
        "requests": found.requests,
        "above": found.above,
        "most": _limits(found.most),
    }
    if found.above:
        text = gettext(
            "In %(time)s, %(requests)s requests matched %(rule)s. But for %(above)s of them, no client sent more than %(most)s."
        )
    else:
        text = gettext("In %(time)s, %(requests)s requests matched %(rule)s. No client sent more than %(most)s.")
    return filled(text, **values)


def _limits(windows: Sequence[Window]) -> str:
    return gettext(" and ").join(map(limit_in_words, windows))
