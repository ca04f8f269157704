"""A backtest as one page in one file, with everything that it needs: to be kept, or sent to whoever decides."""

from importlib.resources import files
from types import SimpleNamespace
from typing import Any, cast

from django.http import HttpRequest
from django.template.loader import render_to_string
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language, gettext, ngettext

from ratewindow.admin.curve import of_periods
from ratewindow.management.subcommands.backtest_as_text import said, times
from ratewindow.operations.backtest.result import Caught, Numbers, Result

TEMPLATE = "ratewindow/backtest.html"
STYLES = ("theme.css", "vendor/uplot/uPlot.min.css", "curve.css")
SCRIPTS = ("vendor/uplot/uPlot.iife.min.js", "curve.js")
LISTED = 50  # clients
READER = cast("HttpRequest", SimpleNamespace(user=SimpleNamespace(has_perm=lambda permission: True)))  # who has read the log


def of(found: Result, compared: Result | None = None) -> str:
    """The page."""
    results = [_shown(found, gettext("This log: %s") if compared else "%s", gettext("Who was refused most"))]
    if compared is not None:
        heading = gettext("Who was refused most: the other log")
        results.append(_shown(compared, gettext("The other log: %s"), heading))
    context = {
        "language": get_language() or "en",
        "results": results,
        "curves": of_periods(
            READER,
            found.periods,
            name=gettext("this log"),
            beside=compared.periods if compared is not None else (),
            beside_name=gettext("the other log"),
        ),
        "styles": [_inline(name) for name in STYLES],
        "scripts": [_inline(name) for name in SCRIPTS],
    }
    return render_to_string(TEMPLATE, context)


def _inline(name: str) -> SafeString:
    """A file of the app's own, as it stands."""
    return mark_safe((files("ratewindow") / "static" / "ratewindow" / name).read_text(encoding="utf-8"))


def _shown(found: Result, heading: str, caught_heading: str) -> dict[str, Any]:
    log = found.log
    rows = [
        {"name": each.name, "mode": each.rule.mode if each.rule else "", "rate": each.rate, **_numbers(each.numbers)}
        for each in found.rules
    ]
    if len(rows) != 1 and not found.reason:
        rows.append({"name": gettext("all together"), **_numbers(found.total)})
    message = ngettext("%s line cannot be read", "%s lines cannot be read", log.unreadable)
    return {
        "heading": heading % times(log),
        "caught_heading": caught_heading,
        "unreadable": message % f"{log.unreadable:,}" if log.unreadable else "",
        "examples": log.examples,
        "reason": found.reason,
        "rows": rows,
        "never": ", ".join(f"{client} ({said(refused)})" for client, refused in found.never.items()),
        "caught": [_caught(each) for each in found.caught[:LISTED]],
        "notes": found.notes,
    }


def _numbers(found: Numbers) -> dict[str, str]:
    return {
        "requests": f"{found.requests:,}",
        "clients": f"{found.clients:,}",
        "refused": said(found.refused),
        "would_refuse": said(found.would_refuse) if found.would_refuse.most else "",
        "clients_refused": said(found.clients_refused),
    }


def _caught(each: Caught) -> dict[str, Any]:
    return {
        "client": each.name or each.client,
        "requests": f"{each.requests:,}",
        "refused": said(each.refused),
        "paths": [*each.did.paths],
        "statuses": ", ".join(f"{status} ×{count:,}" for status, count in each.did.statuses.items()),
        "agents": [*each.did.agents],
    }
