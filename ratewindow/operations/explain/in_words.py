"""An explanation in sentences, in the reader's language."""

from datetime import datetime, timedelta
from operator import itemgetter

from django.utils.formats import date_format
from django.utils.translation import gettext, pgettext

from ratewindow.conf import time_zone
from ratewindow.conf.in_words import listed
from ratewindow.limiter.types import Decision
from ratewindow.operations.explain.explanation import Effect, Explanation
from ratewindow.operations.explain.rule_in_words import capacity, rounded, used
from ratewindow.operations.override_notes import until
from ratewindow.overrides import BLOCK


def answer(found: Explanation) -> str:
    """The answer in one sentence or two: ``REFUSED by login: 5 of 5 used in 1 minute. Next let through at 02:57:31, in 41 s.``"""
    if not found.enabled:
        return gettext("PASSES: limits are switched off by the setting ENABLED.")
    judged = refusal(found.refused, found.at) if found.refused is not None else _passing(found)
    if found.switch is not None:
        off = gettext("PASSES: limits are switched off %s.") % found.switch.how()
        return f"{off} {gettext('Were they on: %s') % judged}"
    return judged


def refusal(refused: Decision, at: datetime) -> str:
    """Which rule refuses and why, and when the client is let through next."""
    values = {"rule": refused.rule, "why": _why_refused(refused)}
    if refused.reason == "block":
        said = gettext("REFUSED: the client is blocked.")
    else:
        said = gettext("REFUSED by %(rule)s: %(why)s.") % values
    return f"{said} {_when(refused, at)}"


def _why_refused(refused: Decision) -> str:
    match refused.reason:
        case "penalty":
            return gettext("its penalty locks the client out")
        case "missing":
            return gettext("the request has nothing to count it by, and the rule refuses such requests")
        case "store":
            return gettext("Redis does not answer, and the rule refuses meanwhile, with status 503")
        case "function":
            return gettext("the function that says what a request costs fails")
        case "cost":
            return gettext("a request costs more than the limit allows at all")
    full = [each for each in refused.windows if each.wait_ms]
    if any(not each.window.limit for each in full):
        return gettext("its limit is 0, which refuses everything")
    return listed(map(used, full)) or gettext("its limit is reached")


def _when(refused: Decision, at: datetime) -> str:
    if refused.retry_after is None:
        return gettext("Waiting does not help.")
    moment = time_zone.local(at + timedelta(seconds=refused.retry_after))
    values = {"time": clock(moment), "wait": rounded(refused.retry_after)}
    return gettext("Next let through at %(time)s, in %(wait)s.") % values


def _passing(found: Explanation) -> str:
    if found.exempts_from_all:
        return gettext("PASSES: the client is exempt from all rules.")
    if found.stays_open:
        return gettext("PASSES: a rule refuses it, but these pages stay open to staff who may switch limits.")
    if found.away:
        return gettext("PASSES: Redis does not answer, and nothing is counted in it.")
    if any(line.effect == Effect.REFUSES for line in found.lines):
        return gettext("PASSES, unless the view refuses: a rule is over its limit there, and leaves it to the view.")
    room = [
        (each.remaining / max(1, capacity(each)), line.rule.name, each)
        for line in found.met()
        if line.effect == Effect.PASSES and line.mode == "enforce"
        for each in line.windows
    ]
    if not room:
        return gettext("PASSES: no rule that is enforced meets it.")
    _, rule, nearest = min(room, key=itemgetter(0))
    values = {"used": used(nearest), "rule": rule}
    return gettext("PASSES: no rule is at its limit. Nearest is %(rule)s, with %(used)s.") % values


def with_shadow(found: Explanation) -> str:
    """What the answer would be if the rules in shadow that meet the request were enforced, for every client."""
    if not found.has_shadow:
        return ""
    would, now = found.with_shadow, found.refused
    if would is None and now is None:
        return gettext("Were shadow rules enforced: the same answer.")
    if would is None:
        return gettext("Were shadow rules enforced: it passes.")
    if now is not None and (would.rule, would.reason) == (now.rule, now.reason):
        return gettext("Were shadow rules enforced: the same answer.")
    return gettext("Were shadow rules enforced: %s") % refusal(would, found.at)


def steps(found: Explanation) -> list[tuple[str, str]]:
    """What is judged before the rules, each with what it comes to."""
    if not found.enabled:
        switched = gettext("no: the setting ENABLED is False")
    else:
        switched = gettext("no: off %s") % found.switch.how() if found.switch is not None else gettext("yes")
    switch = (gettext("Limits switched on"), switched)
    if not found.with_overrides:
        hidden = gettext("not shown to you: to see them takes the permissions view_override and view_identity")
        return [switch, (gettext("Blocks and exemptions"), hidden)]
    exemptions = [_override(row or ruling) for ruling, row in found.overrides if ruling.action == "allow"]
    blocks = [_override(row or ruling) for ruling, row in found.overrides if ruling.action == BLOCK]
    return [
        switch,
        (gettext("Exemptions"), listed(exemptions) or gettext("none")),
        (gettext("Blocks"), listed(blocks) or gettext("none")),
    ]


def _override(each: object) -> str:
    """``from all rules until 14:20 (scraping)``; a row that is gone by now has no reason."""
    rule = getattr(each, "rule", "")
    where = gettext("rule %s") % rule if rule else gettext("all rules")
    if not hasattr(each, "reason"):
        return where
    values = {"where": where, "until": until(each), "reason": each.reason}  # type: ignore[arg-type]
    return (gettext("%(where)s, %(until)s (%(reason)s)") if each.reason else gettext("%(where)s, %(until)s")) % values


def clock(moment: datetime) -> str:
    """``02:57:31``, with the date if it is not today."""
    is_today = moment.date() == time_zone.local(time_zone.now()).date()
    form = pgettext("date format", "H:i:s") if is_today else pgettext("date format", "j M, H:i:s")
    return date_format(moment, form)
