"""An explanation in words, for the page and the command: the answer in a sentence, all else as the cells of a table."""

import math
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from django.utils.translation import gettext, gettext_lazy as _, pgettext

from ratewindow.conf import time_zone
from ratewindow.conf.in_words import duration, listed
from ratewindow.contrib.explain.explanation import Explanation, Line
from ratewindow.operations.clients import free, used
from ratewindow.overrides.lookup import ALLOW, BLOCK, RATE

EFFECTS = {
    "refuses": _("refuses"),
    "would refuse": _("would refuse"),
    "passes": _("lets pass"),
    "exempt": _("exempt"),
    "blocked": _("blocked"),
    "not counted": _("not counted"),
    "no match": _("does not match"),
}
REASONS = {
    "limit": _("its limit is reached"),
    "penalty": _("its penalty locks the client out"),
    "block": _("the client is blocked"),
    "missing": _("the request lacks what the rule counts by"),
    "store": _("Redis does not answer, and the rule refuses then"),
    "cost": _("the request costs more than the limit"),
}
_ACTIONS = ((ALLOW, _("Exemptions")), (BLOCK, _("Blocks")), (RATE, _("Other rates")))


def answer(found: Explanation) -> str:
    """``REFUSED by login: its limit is reached. Next let through at 14:20, in 41 seconds.``"""
    refused = found.refused
    if refused is not None:
        said = refused_by(refused.rule, refused.reason)
        if refused.retry_after is None:
            return f"{said} {gettext('Waiting does not help.')}"
        values = {
            "time": time_zone.in_short(found.at + timedelta(seconds=refused.retry_after)),
            "wait": duration(math.ceil(refused.retry_after) * 1000),  # over by then
        }
        return f"{said} {gettext('Next let through at %(time)s, in %(wait)s.') % values}"
    if found.is_off:
        return gettext("PASSES: limits are switched off.")
    if any(stage.stays_open for stage in found.stages):
        return gettext("PASSES: a rule refuses it, but this page stays open to staff.")
    if any(line.effect == "refuses" for line in found.lines):
        return gettext("PASSES, unless the view refuses: a rule is over its limit, and leaves that to the view.")
    return gettext("PASSES: no rule refuses it.")


def refused_by(rule: str, reason: str) -> str:
    """``REFUSED by login: its limit is reached.``"""
    if reason == "block":
        return gettext("REFUSED: blocked.")
    return gettext("REFUSED by %(rule)s: %(why)s.") % {"rule": rule, "why": REASONS.get(reason, reason)}


def in_shadow(found: Explanation) -> str:
    """Which rules would refuse it if they were enforced."""
    names = listed(line.rule.name for line in found.lines if line.effect == "would refuse")
    return gettext("In shadow, it would be refused by: %s") % names if names else ""


def before_rules(found: Explanation) -> Iterator[tuple[str, str]]:
    """What is judged before the rules, each with what it comes to."""
    if not found.enabled:
        yield gettext("Limits"), gettext("off: the setting ENABLED is False")
    else:
        yield gettext("Limits"), gettext("off %s") % found.switch.how() if found.switch is not None else gettext("on")
    if not found.with_overrides:
        yield (
            gettext("Blocks and exemptions"),
            gettext("not shown to you: to see them takes the permissions view_override and view_identity"),
        )
        return
    for action, name in _ACTIONS:
        of_action = [_override(row) for ruling, row in found.overrides if row is not None and ruling.action == action]
        yield str(name), pgettext("between clauses", "; ").join(of_action) or gettext("none")


def _override(row: Any) -> str:
    """``rule login, until 14:20 (scraping)``"""
    where = gettext("rule %s") % row.rule if row.rule else gettext("all rules")
    values = {"where": where, "until": row.until(), "reason": row.reason}
    return (gettext("%(where)s, %(until)s (%(reason)s)") if row.reason else gettext("%(where)s, %(until)s")) % values


def why(line: Line) -> str:
    """Why a rule matches the request and counts it so, or why it does not match, in a few clauses."""
    if line.effect == "exempt":
        return gettext("the client is exempt from it")
    if line.effect == "blocked":
        return gettext("the client is blocked, and nothing is counted")
    return str(line.reason) or pgettext("between clauses", "; ").join(_clauses(line))


def _clauses(line: Line) -> Iterator[str]:
    rule, key = line.rule, line.rule.key
    if line.effect == "not counted":
        yield gettext("the request has no %s, and such requests pass uncounted") % key
    elif line.decision is not None and line.decision.reason == "missing":
        yield gettext("the request has no %s, and such requests are refused") % key
    elif line.identity.startswith("ip:") and "ip" not in key.replace("user_or_ip", "ip").split("+"):
        yield gettext("the request has no %s, so it is counted per address") % key
    else:
        yield gettext("counted per %s") % key
    if line.decision is not None and line.decision.mode == "shadow" and rule.mode == "enforce":
        yield gettext("enforced for %(percent)d %% of clients, and this is none of them") % {"percent": rule.enforce_percent}
    if rule.count_when is not None:
        yield gettext("only some answers count")
    made_by = line.decision.made_by if line.decision is not None else None
    if made_by is not None and made_by.limits_from:  # else another rate holds
        given = gettext("with the limits that “%s” gives")
        none = gettext("“%s” gives this client no limits, or fails, so the rule's own hold")
        yield (given if made_by.is_given else none) % made_by.limits_from
    if line.asks_view:
        yield gettext("the view decides what a refusal means")
    if line.decision is not None and line.decision.cause:
        yield gettext("Redis does not answer")


def uses(line: Line) -> str:
    """``5 of 5 in 1m, 9 of 20 in 1h``."""
    return listed(used(line.decision)) if line.decision is not None else ""


def frees(line: Line) -> str:
    """When what is full has room again, or who is locked out is let in: ``in 41s``; empty if there is room."""
    return free(line.decision) if line.decision is not None else ""
