"""The edits that the report marks on its chart, since they explain why bars rise or fall."""

from dataclasses import dataclass

from django.db.models import Q
from django.http import HttpRequest
from django.utils.translation import ngettext

from ratewindow.admin.history.entries import entry
from ratewindow.admin.history.rights import viewable
from ratewindow.conf import time_zone
from ratewindow.models import Edit
from ratewindow.reporting.chart import long_label
from ratewindow.reporting.report import Report

MOST_MARKS = 30  # the newest
MOST_LINES = 3  # fields of one edit


@dataclass(frozen=True)
class Mark:
    """`step` is the number of the bar at which it is; `short` stands beside the line, `text` in the tip and the list."""

    step: int
    when: str
    short: str
    text: str
    url: str


def marks(request: HttpRequest, report: Report, rule: str) -> list[Mark]:
    """The edits of rules and of the switch in the time of a report, the oldest first; of one `rule`, or of all."""
    kinds = [kind for kind in viewable(request) if kind in (Edit.Kind.RULE, Edit.Kind.SWITCH)]
    period, steps = report.period, {start: number for number, start in enumerate(report.steps)}
    edits = Edit.objects.filter(kind__in=kinds, at__gte=period.start, at__lt=period.end)
    if rule:
        edits = edits.filter(Q(kind=Edit.Kind.SWITCH) | Q(subject=rule))
    found = []
    for edit in edits[:MOST_MARKS]:
        shown, step = entry(edit, request), steps.get(period.step_of(edit.at))
        if step is None:
            continue
        fields = [f"{line.field} {line.before} → {line.after}" for line in shown.lines[:MOST_LINES]]
        left = len(shown.lines) - MOST_LINES
        more = [ngettext("and %d more", "and %d more", left) % left] if left > 0 else []
        what = "; ".join([*fields, *more]) if edit.action == Edit.Action.CHANGED else shown.action_label.lower()
        who = shown.who or shown.way
        found.append(
            Mark(
                step=step,
                when=long_label(period, edit.at) if period.step.days else f"{time_zone.local(edit.at):%H:%M}",
                short=f"{who}: {edit.subject or shown.title}",
                text=f"{shown.title}: {what} ({who})",
                url=shown.url,
            )
        )
    return found[::-1]


def for_chart(found: list[Mark]) -> list[dict[str, object]]:
    """The same as JSON."""
    return [{"step": mark.step, "short": mark.short, "text": f"{mark.when} {mark.text}"} for mark in found]
