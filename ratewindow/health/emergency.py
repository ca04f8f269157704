"""Which rules refuse nearly everybody now, each in a sentence: the banner, the list of rules, `check` and alerts say the same."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from ratewindow.conf import time_zone
from ratewindow.counting.sheets import ALL
from ratewindow.health import overview
from ratewindow.report.report import Report, last, waiting
from ratewindow.report.spells import FEW_NOW, MOST_PASS, Lately, spells, usual
from ratewindow.report.summary import refuses_everybody


class Emergency(NamedTuple):
    rule: str
    sentence: str  # in the current language


def now(found: Sequence[overview.Process] | None = None) -> list[Emergency]:
    """Most often nothing, which the records of the site's processes say: those that are `found`, or they are asked for."""
    lately = of_all(overview.look(at_server=False)[1] if found is None else found)
    rules = [
        rule
        for rule, (passed, refused) in lately.items()
        if rule != ALL and passed + refused >= FEW_NOW and passed <= MOST_PASS * (passed + refused)
    ]
    if not rules:
        return []
    at = time_zone.now()
    known, hour = waiting(at.timestamp()), last("1h", at)
    reports = [Report(hour, known, rule) for rule in rules]
    unusual = [spell for report in reports for spell in spells(report, usual(report, at), at, lately)]
    return [
        Emergency(spell.rule, refuses_everybody(spell, spell.everybody)) for spell in unusual if spell.everybody and spell.ongoing
    ]


def of_all(found: Sequence[dict[str, Any]]) -> Lately:
    """What all processes have counted in the last seconds."""
    lately: dict[str, Sequence[int]] = {}
    for process in found:
        for rule, counts in process.get("lately", {}).get("rules", {}).items():
            lately[rule] = [sum(both) for both in zip(lately.get(rule, (0, 0)), counts, strict=True)]
    return lately
