"""What the templates of the report show: what changes while one looks, and what chooses it."""

from functools import partial
from typing import Any

from django.http import HttpRequest
from django.utils.translation import gettext

from ratewindow.admin.addresses import reverse
from ratewindow.admin.masking import display
from ratewindow.admin.report import acts, export, marks, parts
from ratewindow.admin.report.form import ReportForm
from ratewindow.admin.report.lists import lists
from ratewindow.admin.report.offenders import who_is_refused
from ratewindow.admin.report.reasons import reasons
from ratewindow.admin.report.rule_lines import rule_lines
from ratewindow.admin.rules import rollout_actions
from ratewindow.operations.staff import may_view_overrides
from ratewindow.reporting import chart
from ratewindow.reporting.figures import figures
from ratewindow.reporting.happening import happening
from ratewindow.reporting.periods import DAY, HOUR
from ratewindow.reporting.reading import Reading
from ratewindow.reporting.summary import number

EVERY_S = ((HOUR, 5), (DAY, 30))  # how often a period of at most that length is read again
RARELY_S = 120


def changing(request: HttpRequest, reading: Reading, form: ReportForm) -> dict[str, Any]:
    """What ``body.html`` shows."""
    found = reading.report
    edits = marks.marks(request, found, form.rule_name())
    may_add = request.user.has_perm("ratewindow.add_raterule")
    blocked = acts.blocked(request, reading.behind.value) if reading.behind else ""
    return {
        "report": found,
        "summary": happening(found, reading.spells, reading.behind, reading.earlier, partial(display, request)),
        "span": chart.span(found),
        "blocked": blocked,
        "acts": _acts(request, reading, blocked),
        "explain_url": _explain_url(request, reading),
        "act_url": f"{reverse('admin:ratewindow_report_act')}?{form.query()}",
        "figures": figures(found, reading.earlier),
        "steps": list(reversed(chart.steps(found))),
        "chart": {
            **chart.chart_data(found),
            "labels": _labels(),
            "marks": marks.for_chart(edits),
            "query": form.query(period=""),
        },
        "marks": edits,
        "who": who_is_refused(request, reading.offenders),
        "rules": rule_lines(request, found, reading.waits, reading.now),
        "report_field": rollout_actions.REPORT,
        "report_query": form.query(),
        "lists": lists(request, reading.offenders),
        "reasons": reasons(found.total, with_blocks=may_view_overrides(request)),
        "advice": [] if found.total.met else list(parts.advice(may_add)),
    }


def choosing(request: HttpRequest, reading: Reading, form: ReportForm, live: str) -> dict[str, Any]:
    """What stands above: the period, the filters, what can be exported, and how often the rest is read again."""
    length = reading.period.end - reading.period.start
    every_s = next((seconds for longest, seconds in EVERY_S if length <= 2 * longest), RARELY_S)
    query = form.query()
    return {
        "form": form,
        "choices": parts.choices(form),
        "wider_query": "" if form.chosen() else form.query(period=parts.next_longer(reading.period)),
        "export_url": export.url(request, query),
        "live": {"url": f"?{query}&{live}=1", "every": every_s} if form.goes_on() and form.is_valid() else None,
    }


def _acts(request: HttpRequest, reading: Reading, blocked: str) -> list[acts.Act]:
    """What can be done about the first spell: block who is behind it, unless that is done, tighten its rule."""
    if not reading.spells or reading.behind is None:
        return []
    spell, behind = reading.spells[0], reading.behind
    reason = gettext("%(rule)s refuses %(count)s requests") % {"rule": spell.rule, "count": number(spell.count)}
    block = [] if blocked else acts.block(request, behind.value, reason)
    return [*block, *acts.tighten(request, spell.rule, reason)]


def _explain_url(request: HttpRequest, reading: Reading) -> str:
    """Of who is behind the first spell, on the route that its rule refused most then; of a network, by one of its addresses."""
    if reading.behind is None:
        return ""
    return acts.explain_url(request, reading.behind.value, reading.behind.route, reading.spells[0].rule)


def _labels() -> dict[str, str]:
    """The words of the chart."""
    return {
        "passed": gettext("Passed"),
        "would": gettext("Would refuse"),
        "refused": gettext("Refused"),
        "zoom": gettext("%s to %s: press Enter to see this time alone, Escape to leave."),
    }
