"""The page State: Redis, how long decisions take, and every process."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.contrib.admin import ModelAdmin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.template.defaultfilters import filesizeformat
from django.template.response import TemplateResponse
from django.utils.formats import localize
from django.utils.translation import gettext, pgettext

from ratewindow import conf
from ratewindow.admin import own_page
from ratewindow.admin.banner import off_message
from ratewindow.admin.reasons import in_words
from ratewindow.admin.report import cleaning
from ratewindow.conf import time_zone
from ratewindow.conf.in_words import listed
from ratewindow.health import overview
from ratewindow.reporting.latency import Percentiles, percentiles
from ratewindow.reporting.periods import last
from ratewindow.reporting.report import report
from ratewindow.reporting.summary import number
from ratewindow.rules.kill_switch import clock
from ratewindow.store import process_clients

PERIOD = "15m"


@dataclass(frozen=True)
class ProcessLine:
    """One process as a line of the table; `mark` is ``closed``, ``open``, ``silent`` or ``idle``."""

    name: str
    kind: str
    since: str
    mark: str
    breaker: str
    rules: str
    switch: str
    fallback: str


def page(model_admin: "ModelAdmin[Any]", request: HttpRequest) -> HttpResponse:
    if not request.user.has_perm("ratewindow.view_throttlestat"):
        raise PermissionDenied
    status = overview.status()
    latency = _latency() if status.get("store", {}).get("reachable") else None
    context = {
        **own_page.context(model_admin, request, gettext("State")),
        "status": status,
        "facts": facts(status.get("store", {})),
        "error": in_words(status.get("store", {}).get("error", "")),
        "latency": latency,
        "in_memory": process_clients.in_memory(),
        "decisions": number(latency.count) if latency else "",
        "period": PERIOD,
        "processes": [process_line(each) for each in _processes(status)],
        "failed": [(in_words(cause), cause, number(count)) for cause, count in sorted(status.get("fallback", {}).items())],
        "runs": cleaning.last_runs(),
        "next_run": cleaning.next_run(),
        "off": off_message(),
        "may_switch": request.user.has_perm("ratewindow.switch_limits") and conf.current().enabled,
    }
    return TemplateResponse(request, "admin/ratewindow/state.html", context)


def facts(store: dict[str, Any]) -> list[tuple[str, str]]:
    """Names and values that describe the server, without those that are unknown."""
    used, maximum = store.get("memory_used"), store.get("memory_max")
    sizes = {"used": filesizeformat(used or 0), "maximum": filesizeformat(maximum or 0)}
    memory = (gettext("%(used)s of %(maximum)s") if maximum else gettext("%(used)s, no maximum")) % sizes
    server = gettext("memory of each process") if store.get("server") == "memory" else store.get("server", "")
    values = [
        (gettext("Server"), f"{server} {store.get('version') or ''}".strip()),
        (gettext("Address"), store.get("address", "")),
        (gettext("Masters"), str(store.get("masters", ""))),
        (gettext("Memory"), memory if used is not None else ""),
        (gettext("When memory is full"), store.get("eviction_policy") or ""),
        (gettext("Keys"), number(store["keys"]) if store.get("keys") is not None else ""),
        (gettext("Answers in"), _milliseconds(store.get("latency_ms"))),
    ]
    return [(name, value) for name, value in values if value]


def _milliseconds(latency_ms: float | None) -> str:
    return "" if latency_ms is None else gettext("%s ms") % localize(Decimal(f"{latency_ms:g}"))


def process_line(process: dict[str, Any]) -> ProcessLine:
    mark, since = process["breaker"], _clock(process.get("degraded_since"))
    breaker = gettext("counts in its memory") if process_clients.in_memory() else gettext("counts on Redis")
    if mark == "open":
        values = {"servers": listed(process["servers"]), "time": since, "cause": in_words(process["error"])}
        breaker = gettext("does not count on %(servers)s since %(time)s: %(cause)s") % values
    elif mark == "idle":
        breaker = gettext("has not needed Redis yet")
    elif mark == "silent":
        breaker = gettext("has not reported since %s") % since
    fallback = sum((process.get("fallback") or {}).values())
    read_at = _clock(process.get("rules_read"))
    rules = gettext("%(count)s, read %(time)s") % {"count": number(process["rules"]), "time": read_at} if read_at else ""
    if process.get("rules_error"):
        rules = gettext("%s; cannot be read now") % (rules or gettext("none"))
    return ProcessLine(
        name=f"{process['host']} {process['pid']}",
        kind=process["kind"],
        since=_clock(process.get("since")),
        mark=mark,
        breaker=breaker,
        rules=rules,
        switch={"on": pgettext("limits", "on"), "off": pgettext("limits", "off")}.get(process.get("switch", ""), ""),
        fallback=number(fallback) if "fallback" in process else "",
    )


def _processes(status: dict[str, Any]) -> list[dict[str, Any]]:
    """The processes to list. While Redis does not answer this is the only one, and a closed breaker is shown as idle: no
    request of this process has needed Redis since."""
    processes: list[dict[str, Any]] = status.get("processes", [])
    if status.get("store", {}).get("reachable", True):
        return processes
    return [{**each, "breaker": "idle"} if each["breaker"] == "closed" else each for each in processes]


def _latency() -> Percentiles | None:
    return percentiles(report(last(PERIOD, time_zone.now(), conf.current().retention)).total.latency)


def _clock(moment: str | None) -> str:
    return clock(datetime.fromisoformat(moment).timestamp()) if moment else ""
