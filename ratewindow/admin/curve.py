"""The curve of limits as pages show it: a table that says everything, a chart beside it, and who is caught.

A page includes ``admin/ratewindow/curve/curve.html`` with ``curve``, one of `shown`, and `MEDIA` in its head. An input with
``data-rw-limit`` and the curve's `id` takes the rate that is chosen in the chart.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.http import HttpRequest
from django.utils.translation import gettext, ngettext, pgettext

from ratewindow.admin.masking import display
from ratewindow.conf.in_words import duration, listed
from ratewindow.limiter.types import Window
from ratewindow.operations.backtest.curve import Curve, Point, curves_of
from ratewindow.operations.backtest.peaks import ClientPeak
from ratewindow.operations.backtest.result import OfPeriod
from ratewindow.operations.backtest.suggestion import Suggestion
from ratewindow.operations.backtest.suggestion_in_words import cautions, reason
from ratewindow.reporting.summary import number, percent

MEDIA = forms.Media(
    css={"all": ["ratewindow/vendor/uplot/uPlot.min.css", "ratewindow/curve.css"]},
    js=[
        forms.Script("ratewindow/vendor/uplot/uPlot.iife.min.js", defer=True),  # type: ignore[list-item]  # the stubs accept only str
        forms.Script("ratewindow/curve.js", defer=True),  # type: ignore[list-item]
    ],
)

UNKNOWN = "–"


@dataclass(frozen=True)
class Row:
    """What one limit does, as text. `beside`: in the other time."""

    rate: str
    limit: str
    mark: str  # what limit it is, if it is a special one
    caught: str
    share: str  # of all clients
    innocent: str
    refused: str
    innocent_refused: str
    beside: str
    beside_refused: str


@dataclass(frozen=True)
class Who:
    """A client that some limits catch."""

    client: str
    peak: int
    peak_text: str
    requests: str
    innocent: bool
    paths: Sequence[str]
    statuses: str
    agents: Sequence[str]


@dataclass(frozen=True)
class WhoList:
    heading: str
    clients: Sequence[Who]
    are_all: bool
    have_samples: bool


@dataclass(frozen=True)
class ShownCurve:
    """`data` is what the script reads; `chosen` the number of the row that the page begins with."""

    id: str
    heading: str
    about: str  # whose requests these are, in a sentence
    suggested: str  # a rate; empty without a suggestion
    reason: str
    cautions: Sequence[str]
    name: str  # of the time, if there is another beside it
    beside_name: str
    knows_refused: bool
    rows: Sequence[Row]
    chosen: int
    who: Sequence[WhoList]
    data: Mapping[str, Any]

    @property
    def last(self) -> int:
        return len(self.rows) - 1

    @property
    def data_id(self) -> str:
        return f"{self.id}-data"


def shown(
    request: HttpRequest,
    curve: Curve,
    *,
    suggestion: Suggestion | None = None,
    now: int | None = None,
    picked: int | None = None,
    name: str = "",
    beside: Curve | None = None,
    beside_name: str = "",
) -> ShownCurve:
    """A curve for a page. `now` is the present limit, and `picked` the one that somebody has chosen by this curve. `beside` is
    the curve of another time with the same limits, as `curves_of` makes both. Identities are masked for users who may not see
    them."""
    suggested = suggestion.limit if suggestion is not None else None
    special = [(now, gettext("now")), (suggested, gettext("suggested")), (picked, pgettext("a limit", "chosen"))]
    marks = {limit: listed(word for each, word in special if each == limit) for limit, _ in special}
    limits = [point.limit for point in curve.points]
    rows = [_row(curve, point, marks.get(point.limit, ""), beside) for point in curve.points]
    chosen = max((i for i, limit in enumerate(limits) if limit <= (picked or suggested or now or limits[0])), default=0)
    values = {"period": duration(curve.period_ms)}
    times = [(name, curve), *([(beside_name, beside)] if beside is not None else [])]
    return ShownCurve(
        id=f"rw-curve-{curve.period_ms}",
        heading=gettext("Limits for %(period)s") % values,
        about=_about(curve),
        suggested=suggestion.rate if suggestion is not None else "",
        reason=reason(suggestion) if suggestion is not None else "",
        cautions=cautions(suggestion) if suggestion is not None else [],
        name=name,
        beside_name=beside_name,
        knows_refused=any(point.refused for point in curve.points),
        rows=rows,
        chosen=chosen,
        who=[_who(request, each_name, each) for each_name, each in times if each.highest],
        data={
            "limits": limits,
            "caught": [point.caught for point in curve.points],
            "innocent": [point.innocent for point in curve.points],
            "beside": [beside.at(limit).caught for limit in limits] if beside is not None else None,
            "said": [_said(curve, point) for point in curve.points],
            "now": now,
            "suggested": suggested,
            "picked": picked,
            "words": dict(zip(("now", "suggested", "picked"), (word for _, word in special), strict=True)),
        },
    )


def of_periods(
    request: HttpRequest,
    periods: Sequence[OfPeriod],
    *,
    name: str = "",
    beside: Sequence[OfPeriod] = (),
    beside_name: str = "",
) -> list[ShownCurve]:
    """The curve of each period of a result, with its suggestion; beside it the same period of another time that has it."""
    others = {each.period_ms: each for each in beside}
    found = []
    for each in periods:
        other, suggestion = others.get(each.period_ms), each.suggestion
        if other is None:
            found.append(shown(request, each.curve, suggestion=suggestion, now=each.limit))
            continue
        curve, second = curves_of([each.clients, other.clients], each.period_ms, each.special_limits)
        found.append(
            shown(
                request,
                curve,
                suggestion=suggestion,
                now=each.limit,
                name=name,
                beside=second,
                beside_name=beside_name,
            )
        )
    return found


def _row(curve: Curve, point: Point, mark: str, beside: Curve | None) -> Row:
    return Row(
        Window(point.limit, curve.period_ms).text,
        number(point.limit),
        mark,
        number(point.caught),
        percent(point.caught, curve.clients),
        number(point.innocent),
        _refused(curve, point.limit),
        number(point.innocent_refused) if point.innocent_refused is not None else UNKNOWN,
        number(beside.at(point.limit).caught) if beside is not None else "",
        _refused(beside, point.limit) if beside is not None else "",
    )


def _refused(curve: Curve, limit: int) -> str:
    between = curve.refused_between(limit)
    return UNKNOWN if between is None else "–".join(number(count) for count in dict.fromkeys(between))


def _about(curve: Curve) -> str:
    message = ngettext(
        "%(clients)s client, %(innocent)s of them likely innocent, with %(requests)s requests.",
        "%(clients)s clients, %(innocent)s of them likely innocent, with %(requests)s requests.",
        curve.clients,
    )
    return message % {"clients": number(curve.clients), "innocent": number(curve.innocent), "requests": number(curve.requests)}


def _said(curve: Curve, point: Point) -> str:
    message = ngettext(
        "%(limit)s in %(period)s: %(caught)s client is caught, %(innocent)s of them likely innocent",
        "%(limit)s in %(period)s: %(caught)s clients are caught, %(innocent)s of them likely innocent",
        point.caught,
    )
    return message % {
        "limit": number(point.limit),
        "period": duration(curve.period_ms),
        "caught": number(point.caught),
        "innocent": number(point.innocent),
    }


def _who(request: HttpRequest, name: str, curve: Curve) -> WhoList:
    heading = gettext("Who is caught: %(time)s") % {"time": name} if name else gettext("Who is caught")
    clients = [_one(request, each) for each in curve.highest]
    are_all = len(clients) == curve.clients
    return WhoList(heading, clients, are_all, any(each.did is not None for each in curve.highest))


def _one(request: HttpRequest, client: ClientPeak) -> Who:
    did = client.did
    return Who(
        client=display(request, client.client),
        peak=client.peak,
        peak_text=number(client.peak),
        requests=number(client.requests),
        innocent=client.likely_innocent,
        paths=[f"{path} ×{number(count)}" for path, count in did.paths.items()] if did is not None else [],
        statuses=listed(f"{status} ×{number(count)}" for status, count in did.statuses.items()) if did is not None else "",
        agents=[*did.agents] if did is not None else [],
    )
