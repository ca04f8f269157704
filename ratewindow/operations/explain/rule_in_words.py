"""What a rule makes of a request in a few clauses, and how far its windows are used, in the reader's language."""

import math
from collections.abc import Iterator
from datetime import UTC, datetime

from django.utils.translation import gettext, pgettext
from django.utils.translation import gettext_lazy as _

from ratewindow.conf import time_zone
from ratewindow.conf.in_words import duration, listed, one_of
from ratewindow.limiter.types import Decision, WindowAnswer
from ratewindow.operations.explain.explanation import Effect, Line
from ratewindow.operations.explain.not_met import Reason
from ratewindow.overrides import Ruling
from ratewindow.reporting.summary import number
from ratewindow.request.prepare import policy
from ratewindow.rules.rule import Rule

EFFECTS = {
    Effect.REFUSES: _("refuses"),
    Effect.WOULD_REFUSE: _("would refuse"),
    Effect.PASSES: _("lets pass"),
    Effect.EXEMPT: _("exempt"),
    Effect.BLOCKED: _("blocked"),
    Effect.NOT_COUNTED: _("not counted"),
    Effect.NOT_REACHED: _("not reached"),
    Effect.NOT_MET: _("not met"),
}


def why(line: Line) -> str:
    """Why a rule meets the request, or does not, in a few clauses."""
    if line.reason is not None:
        return _not_met(line.rule, line.reason)
    return pgettext("between clauses", "; ").join([_met(line), *_more(line)])


def _met(line: Line) -> str:
    per = gettext("counted per %s") % line.rule.key
    if line.effect == Effect.EXEMPT:
        return gettext("the client is exempt from it")
    if line.effect == Effect.BLOCKED:
        return gettext("the client is blocked, and nothing is counted")
    if line.effect == Effect.NOT_REACHED:
        return gettext("another rule refuses before")
    if line.effect == Effect.NOT_COUNTED:
        return gettext("the request has no %s, and such requests pass uncounted") % line.rule.key
    if line.decision is not None and line.decision.reason == "missing":
        return gettext("the request has no %s, and such requests are refused") % line.rule.key
    if line.identity.startswith("ip:") and "ip" not in _kinds(line.rule):
        per = gettext("the request has no %s, so it is counted per address") % line.rule.key
    return per


def _kinds(rule: Rule) -> set[str]:
    return {part.strip() for part in rule.key.split("+")} | ({"ip"} if "user_or_ip" in rule.key else set())


def _more(line: Line) -> Iterator[str]:
    rule = line.rule
    if line.decision is None:
        return
    if line.other_rate is not None:
        yield _other_rate(line.other_rate)
    if rule.mode == "enforce" and rule.enforce_percent < 100:
        values = {"percent": rule.enforce_percent}
        if line.mode == "enforce":
            yield gettext("enforced for %(percent)d %% of clients, and this client is one of them") % values
        else:
            yield gettext("enforced for %(percent)d %% of clients, and this client is not one of them") % values
    if rule.cost > 1 or (line.decision.check is not None and line.decision.check.cost > 1):
        yield gettext("costs %s") % number(line.decision.check.cost if line.decision.check is not None else rule.cost)
    if rule.count_when is not None:
        if rule.count_when.login_failed:
            yield gettext("only failed logins count")
        else:
            yield gettext("only some answers count")
    if rule.count_refused:
        yield gettext("refused requests also count")
    if rule.lease > 1:
        yield gettext("processes take up to %s units at once, which count as used") % number(rule.lease)
    if line.asks_view:
        yield gettext("the view decides what a refusal means")
    if line.decision.cause:
        yield str(_AWAY[policy(rule) if line.mode == "enforce" else "allow"])


def _other_rate(ruling: Ruling) -> str:
    values = {"rate": "; ".join(each.text for each in ruling.windows)}
    if math.isinf(ruling.expires_s):
        return gettext("another rate holds for the client until somebody ends it: %(rate)s") % values
    values["time"] = time_zone.in_short(datetime.fromtimestamp(ruling.expires_s, UTC))
    return gettext("another rate holds for the client until %(time)s: %(rate)s") % values


_AWAY = {
    "allow": _("Redis does not answer: passes uncounted"),
    "refuse": _("Redis does not answer: refused with 503"),
    "local": _("Redis does not answer: each process counts its share for itself"),
}


def _not_met(rule: Rule, reason: Reason) -> str:
    match reason:
        case Reason.OFF:
            return gettext("it is off")
        case Reason.LIMITLESS:
            return gettext("it has no limits")
        case Reason.NAMED:
            return gettext("it holds only where code names it")
        case Reason.METHOD:
            return gettext("the method is not %s") % one_of(sorted(rule.methods))
        case Reason.TOO_LARGE:
            return gettext("its regular expression is left out, since those of the site are too large together")
        case Reason.NO_MIDDLEWARE:
            return gettext("RateWindowMiddleware is not in MIDDLEWARE, so no rule meets a path")
    return str(_PLACES[rule.applies_to]) % rule.pattern


_PLACES = {
    "path": _("the path is not %s"),
    "prefix": _("the path is not below %s"),
    "regex": _("the path does not match %s"),
    "route": _("the route is not %s"),
}


def uses(line: Line) -> str:
    """``5 of 5 used in 1 minute, 9 of 20 used in 1 hour``."""
    return listed(used(each) for each in line.windows)


def used(answer: WindowAnswer) -> str:
    """``5 of 5 used in 1 minute``."""
    values = {
        "used": number(max(0, capacity(answer) - answer.remaining)),
        "limit": number(capacity(answer)),
        "period": duration(answer.window.period_ms),
    }
    return gettext("%(used)s of %(limit)s used in %(period)s") % values


def capacity(answer: WindowAnswer) -> int:
    """How much a window admits: of a bucket, what it admits at once."""
    window = answer.window
    return window.limit if window.burst is None or not window.limit else window.burst


def frees(line: Line) -> str:
    """When a full window has room again: ``in 41 s``; empty if there is room."""
    return frees_in(line.decision) if line.decision is not None else ""


def frees_in(decision: Decision) -> str:
    """When what is full has room again, or what is locked out is let in: ``in 41 s``; empty if there is room."""
    waits = [each.wait_ms for each in decision.windows if each.wait_ms]
    if not waits and decision.retry_after is not None and decision.outcome == "refused":
        return gettext("in %s") % rounded(decision.retry_after)
    if any(wait < 0 for wait in waits):
        return gettext("never")
    return gettext("in %s") % rounded(max(waits) / 1000) if waits else ""


def rounded(wait_s: float) -> str:
    """``41 s``, ``3 min``, ``2 h``: rounded up, so that it is over by then."""
    seconds = -int(-wait_s // 1)
    for size, text in ((86_400, _("%d d")), (3600, _("%d h")), (60, _("%d min"))):
        if seconds > 2 * size:
            return str(text) % -(-seconds // size)
    return gettext("%d s") % seconds
