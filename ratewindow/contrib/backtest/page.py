"""The page of backtests and its form: it computes and shows what was found, the sentence first, and stores nothing of the log."""

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.http import HttpRequest, HttpResponse
from django.utils.formats import date_format
from django.utils.functional import lazy
from django.utils.text import format_lazy
from django.utils.translation import gettext, gettext_lazy as _, ngettext

from ratewindow.admin.base import render_page, reverse
from ratewindow.admin.rules.new_rules import limit_values
from ratewindow.conf import time_zone
from ratewindow.conf.in_words import as_sentence, duration, filled, listed, number, percent, translated
from ratewindow.contrib.backtest.curve import Curve, Point
from ratewindow.contrib.backtest.logs.log import Log, Most, open_logs
from ratewindow.contrib.backtest.result import Bounds, Busy, Numbers, OfPeriod, Result, Seen
from ratewindow.contrib.backtest.run import Plan, backtest, of_rates, of_rule
from ratewindow.limiter.problem import Problem
from ratewindow.models import RateRule
from ratewindow.operations.rights import display, may_see, require
from ratewindow.rooms import Link
from ratewindow.rules import code_rates
from ratewindow.rules.rule import Rule, check_pattern

COMMAND = "manage.py ratewindow backtest"
MB = 1_000_000
MOST_BYTES = 50 * MB  # of the file as it is sent
MOST_REQUESTS = 100_000
MOST = Most(requests=MOST_REQUESTS, seconds=15, file_bytes=200 * MB)


def _line(label: Any, most: int, example: str, help_text: Any = "") -> forms.CharField:
    widget = forms.TextInput({"autocomplete": "off", "spellcheck": "false", "placeholder": example})
    return forms.CharField(label=label, required=False, max_length=most, widget=widget, help_text=help_text)


class BacktestForm(forms.Form):
    """`plan` is the rule that is tried, and `result` what it would have done."""

    log = forms.FileField(
        label=_("Access log"),
        help_text=format_lazy(
            _(
                "At most {size} MB, also packed as .gz. The page reads the first {requests} requests, for at most {seconds} "
                "seconds; for more, use {command}. The log is not kept."
            ),
            size=MOST_BYTES // MB,
            requests=lazy(number, str)(MOST_REQUESTS),
            seconds=MOST.seconds,
            command=COMMAND,
        ),
    )
    rule = forms.ChoiceField(label=_("Rule"), required=False)
    rates = _line(
        _("Limits"),
        200,
        "5/s; 100/m",
        _("Such as 10/m, or 5/s; 100/m. For a rule of this site: leave it empty for the limits that it has."),
    )
    path = _line(
        _("Path"), 500, "/login/", _("Of a rule that does not exist yet, which counts addresses: all paths below this one.")
    )

    def __init__(self, request: HttpRequest) -> None:
        data, files = (request.POST, request.FILES) if request.method == "POST" else (None, None)
        super().__init__(data, files, auto_id="rw-backtest-%s", label_suffix="", initial={"rule": request.GET.get("rule", "")})
        fields: dict[str, Any] = self.fields
        names = {*RateRule.objects.values_list("name", flat=True), *code_rates.load_names()}
        fields["rule"].choices = [("", _("A rule that does not exist yet")), *((name, name) for name in sorted(names))]
        self.plan: Plan | None = None
        self.result: Result | None = None

    def clean_log(self) -> Any:
        log = self.cleaned_data["log"]
        if log.size > MOST_BYTES:
            raise forms.ValidationError(
                filled(
                    gettext("At most %(most)s MB can be sent here. Use %(command)s %(log)s instead."),
                    most=MOST_BYTES // MB,
                    command=COMMAND,
                    log=log.name,
                )
            )
        return log

    def clean(self) -> dict[str, Any]:
        cleaned, field = super().clean() or self.cleaned_data, "path"
        if not self.errors:
            try:
                if cleaned["path"] and cleaned["rule"]:  # a path that holds for nothing would be misread as one that does
                    raise Problem("a rule of this site applies where it says: clear {path!r}", path=cleaned["path"])
                if cleaned["path"]:
                    check_pattern("prefix", cleaned["path"])
                field, rates = "rates", cleaned["rates"]
                self.plan = of_rule(cleaned["rule"], rates) if cleaned["rule"] else of_rates(rates, prefix=cleaned["path"])
                field = "log"
                self.result = backtest(open_logs([cleaned["log"]], None, MOST), self.plan, with_curves=True)
            except ValueError as error:
                self.add_error(field, as_sentence(error))
        return cleaned


def rule_links(model_admin: Any, request: HttpRequest, rule: Any) -> Iterator[Link]:
    """To the page, with this rule chosen, for those who may open it."""
    if _may_open(model_admin, request):
        yield Link(_url(rule.name), gettext("Backtest this rule"))


def _url(rule: str) -> str:
    return reverse("admin:ratewindow_backtest") + (f"?{urlencode({'rule': rule})}" if rule else "")


def _may_open(model_admin: Any, request: HttpRequest) -> bool:
    return bool(model_admin.has_view_or_change_permission(request) and request.user.has_perm("ratewindow.view_throttlestat"))


def page(model_admin: Any, request: HttpRequest) -> HttpResponse:
    require(_may_open(model_admin, request))
    form = BacktestForm(request)
    form.is_valid()
    context: dict[str, Any] = {"form": form, "media": MEDIA, "command": COMMAND}
    if form.result is not None and form.plan is not None and form.plan.rule is not None:
        name = form.cleaned_data["rule"]
        context["again"] = _url(name)
        context["found"] = of_result(form.result, form.cleaned_data["log"].name)
        context["curves"] = [of_period(request, period) for period in form.result.periods]
        context["use"] = _use(model_admin, request, form.plan.rule, name, form.result) if form.result.reason is None else None
    return render_page(model_admin, request, "admin/ratewindow/backtest/page.html", gettext("Backtest"), context)


def _use(model_admin: Any, request: HttpRequest, rule: Rule, name: str, result: Result) -> Mapping[str, Any] | None:
    """What opens the form of a rule with the chosen limits: of the row that was tried, or else of a new one. `name`: of a rule
    that the site has, also where only code has it."""
    row = RateRule.objects.filter(name=name).first() if name else None
    may = model_admin.has_add_permission(request) if row is None else model_admin.has_change_permission(request, row)
    if not may:
        return None
    suggested = {period.suggestion.period_ms: period.suggestion.limit for period in result.periods}
    limits = [
        {
            "name": f"windows-{place}-limit",
            "label": gettext("Limit for %(period)s") % {"period": duration(window.period_ms)},
            "curve": id_of(window.period_ms),
            "value": suggested.get(window.period_ms) or window.limit,
        }
        for place, window in enumerate(rule.windows)
    ]
    hidden = {name: value for name, value in limit_values(rule.windows).items() if not name.endswith("-limit")}
    if row is None:
        hidden |= {
            "name": name,
            "key": rule.key,
            "applies_to": rule.applies_to,
            "pattern": rule.pattern,
            "methods": ",".join(sorted(rule.methods)),
        }
    url = reverse("admin:ratewindow_raterule_add") if row is None else reverse("admin:ratewindow_raterule_change", args=[row.pk])
    return {"url": url, "rule": row, "limits": limits, "hidden": hidden}


_UPLOT, _CURVE = "ratewindow/vendor/uplot/", "ratewindow/backtest/curve"
MEDIA = forms.Media(
    css={"all": [f"{_UPLOT}uPlot.min.css", f"{_CURVE}.css"]},
    js=[forms.Script(name, defer=True) for name in (f"{_UPLOT}uPlot.iife.min.js", f"{_CURVE}.js")],  # type: ignore[misc]  # the stubs accept only str
)


def of_result(result: Result, name: str) -> Mapping[str, Any]:
    """What the template shows of a log of this name."""
    log = result.log
    unreadable = ngettext(
        "%(count)s line cannot be read, and is left out.", "%(count)s lines cannot be read, and are left out.", log.unreadable
    )
    return {
        "name": _text(name),
        "is_cut": log.is_cut,
        "sentence": str(result.reason or _refusals(result.total)),
        "is_loud": bool(result.total.refused.most),
        "about": _about(log, result.seen),
        "unreadable": filled(unreadable, count=log.unreadable) if log.unreadable else "",
        "examples": [_text(translated(example)) for example in log.examples],
        "notes": [_text(str(note)) for note in result.notes],
    }


def _refusals(found: Numbers) -> str:
    """What one rule would have refused."""
    if not found.requests:
        return gettext("It matches none of the requests.")
    if not found.refused.most:
        return filled(
            ngettext(
                "It would have refused nothing: it matches %(requests)s request, of %(clients)s clients.",
                "It would have refused nothing: it matches %(requests)s requests, of %(clients)s clients.",
                found.requests,
            ),
            requests=found.requests,
            clients=found.clients,
        )
    return filled(
        ngettext(
            "It would have refused %(refused)s of the %(requests)s requests that it matches (%(share)s), of %(clients)s client.",
            "It would have refused %(refused)s of the %(requests)s requests that it matches (%(share)s), of %(clients)s clients.",
            found.clients_refused.most,
        ),
        refused=_said(found.refused),
        requests=found.requests,
        share=percent(found.refused.most, found.requests),
        clients=_said(found.clients_refused),
    )


def _said(bounds: Bounds) -> str:
    """``4,211``, or ``between 4,180 and 4,211``."""
    if not bounds.is_open:
        return number(bounds.least)
    return filled(gettext("between %(least)s and %(most)s"), least=bounds.least, most=bounds.most)


def _about(log: Log, seen: Seen) -> str:
    if not seen.requests:
        return gettext("The log has no requests.")
    first, last = (date_format(time_zone.local(at), "DATETIME_FORMAT") for at in seen.times)
    return filled(
        ngettext(
            "The log has %(requests)s request, from %(from)s to %(to)s, in the format %(format)s.",
            "The log has %(requests)s requests, from %(from)s to %(to)s, in the format %(format)s.",
            seen.requests,
        ),
        requests=seen.requests,
        format=log.format,
        **{"from": first, "to": last},  # `from` is Python's
    )


def _text(text: str) -> str:
    """What can be sent as a page, whatever bytes a log has."""
    return text.encode("utf-8", "backslashreplace").decode()


def id_of(period_ms: int) -> str:
    """Of the curve: an input with this as its ``data-rw-limit`` takes the limit that is chosen in the chart."""
    return f"rw-curve-{period_ms}"


def of_period(request: HttpRequest, period: OfPeriod) -> dict[str, Any]:
    """The curve of limits: a table that says everything, what the script draws beside it (`data`), and who is caught."""
    curve, now, suggested = period.curve, period.limit, period.suggestion.limit
    words = {"now": gettext("now"), "suggested": gettext("suggested")}
    special = ((now, words["now"]), (suggested, words["suggested"]))
    marks = {limit: listed(word for each, word in special if each == limit) for limit, _word in special}
    limits = [point.limit for point in curve.points]
    return {
        "id": id_of(curve.period_ms),
        "heading": gettext("Limits for %(period)s") % {"period": duration(curve.period_ms)},
        "about": filled(
            ngettext(
                "%(clients)s client, %(innocent)s of them likely innocent, with %(requests)s requests.",
                "%(clients)s clients, %(innocent)s of them likely innocent, with %(requests)s requests.",
                curve.clients,
            ),
            clients=curve.clients,
            innocent=curve.innocent,
            requests=curve.requests,
        ),
        "suggestion": period.suggestion,
        "rows": [
            {
                "limit": number(point.limit),
                "mark": marks.get(point.limit, ""),
                "caught": number(point.caught),
                "share": percent(point.caught, curve.clients),
                "innocent": number(point.innocent),
                "refused": number(point.refused),
                "innocent_refused": number(point.innocent_refused),
            }
            for point in curve.points
        ],
        "chosen": limits.index(now if suggested is None else suggested),
        "last": len(limits) - 1,
        "who": [_who(request, each) for each in period.busiest],
        "are_all": len(period.busiest) == curve.clients,
        "data_id": f"{id_of(curve.period_ms)}-data",
        "data": {
            "limits": limits,
            "caught": [point.caught for point in curve.points],
            "innocent": [point.innocent for point in curve.points],
            "said": [_said_of(curve, point) for point in curve.points],
            "now": now,
            "suggested": suggested,
            "words": words,
        },
    }


def _said_of(curve: Curve, point: Point) -> str:
    return filled(
        ngettext(
            "%(limit)s in %(period)s: %(caught)s client is caught, %(innocent)s of them likely innocent",
            "%(limit)s in %(period)s: %(caught)s clients are caught, %(innocent)s of them likely innocent",
            point.caught,
        ),
        limit=point.limit,
        period=duration(curve.period_ms),
        caught=point.caught,
        innocent=point.innocent,
    )


def _who(request: HttpRequest, each: Busy) -> dict[str, Any]:
    """A client that some limits catch: by the name that the log has for it, or else by its identity; what it asked for, and was
    answered."""
    client, did = each.peak, each.did
    return {
        "client": _text(each.name) if each.name and may_see(request.user) else display(request.user, client.client),
        "peak": client.peak,
        "peak_text": number(client.peak),
        "requests": number(client.requests),
        "innocent": client.likely_innocent,
        "paths": [_text(f"{path} ×{number(count)}") for path, count in did.paths.items()],
        "statuses": listed(f"{status} ×{number(count)}" for status, count in did.statuses.items()),
        "agents": [_text(agent) for agent in did.agents],
    }
