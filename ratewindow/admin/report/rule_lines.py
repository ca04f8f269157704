"""The rules of a report, each as a line: what it did, whether it refuses anybody now, and the buttons that change it."""

from collections import Counter
from dataclasses import dataclass
from datetime import datetime

from django.http import HttpRequest
from django.utils.translation import gettext, ngettext

from ratewindow.admin.addresses import reverse
from ratewindow.admin.report.acts import Act, tighten
from ratewindow.admin.report.stage_buttons import StageButton, stage_buttons
from ratewindow.admin.wording import mode_in_words, sentence
from ratewindow.models import RateRule
from ratewindow.reporting.offenders import WhoWaits, refused_now
from ratewindow.reporting.report import Report
from ratewindow.reporting.summary import number, percent
from ratewindow.rules import code_rates
from ratewindow.rules.rule import BLOCKS

MOST_RULES = 100  # in the table; a report of a single rule shows any other


@dataclass(frozen=True)
class RuleLine:
    """What one rule did. `mode` is that of its row, ``code`` without a row, ``gone`` without either, empty for blocks."""

    name: str
    sentence: str
    mode: str
    mode_label: str
    url: str
    passed: str
    refused: str
    other: str
    share: str
    share_width: int  # of a bar of 100
    would_refuse: str
    now: str  # whether it refuses anybody now, or would
    acts: list[Act]
    stages: list[StageButton]


def rule_lines(request: HttpRequest, report: Report, waits: WhoWaits, now: datetime) -> list[RuleLine]:
    """The rules that were met, those that refuse most first."""
    may_open, refusing = request.user.has_perm("ratewindow.view_raterule"), refused_now(waits, now)
    order = sorted(report.rules.items(), key=lambda item: (-item[1].refused, -item[1].would_refuse, -item[1].passed, item[0]))
    met = [(name, sums) for name, sums in order if sums.met][:MOST_RULES]
    rows = {row.name: row for row in RateRule.objects.filter(name__in=[name for name, _ in met]).prefetch_related("windows")}
    in_code, blocked = code_rates.names(), gettext("Requests of blocked clients that met no enforced rule.")
    lines = []
    for name, sums in met:
        row = rows.get(name)
        if name == BLOCKS:
            mode, label = "", ""  # a line of blocked requests, which is no rule
        elif row:
            mode, label = row.mode, mode_in_words(row)
        else:
            mode, label = ("code", gettext("In code")) if name in in_code else ("gone", gettext("Deleted"))
        lines.append(
            RuleLine(
                name=name,
                sentence=sentence(row) if row else blocked if name == BLOCKS else "",
                mode=mode,
                mode_label=label,
                url=reverse("admin:ratewindow_raterule_change", args=[row.pk]) if row and may_open else "",
                passed=number(sums.passed),
                refused=number(sums.refused),
                other=number(sums.other),
                share=percent(sums.refused, sums.met),
                share_width=max(2, round(100 * sums.refused / sums.met)) if sums.refused else 0,  # visible if there was any
                would_refuse=number(sums.would_refuse),
                now=_now(refusing.get(name, Counter())),
                acts=_tighten(request, name, sums.refused),
                stages=stage_buttons(request, row) if row else [],
            )
        )
    return lines


def _tighten(request: HttpRequest, name: str, refused: int) -> list[Act]:
    return tighten(request, name, gettext("Refused %s times") % number(refused), gettext("Tighten…")) if refused else []


def _now(clients: Counter[str]) -> str:
    """A client that was refused within the last minute or two is full for at least as long as the rule's period."""
    if full := clients["refused"]:
        return ngettext("full for %s client", "full for %s clients", full) % number(full)
    if would := clients["would_refuse"]:
        return ngettext("would be full for %s client", "would be full for %s clients", would) % number(would)
    return ""
