"""A page of the admin with nothing but curves: of an ordinary day, and beside it one with an attack."""

import random
from functools import cache

from django.apps import apps
from django.contrib import admin
from django.contrib.admin.views.decorators import staff_member_required
from django.http import HttpRequest, HttpResponse
from django.template import engines
from django.urls import path

from ratewindow.admin import curve as admin_curve
from ratewindow.operations.backtest.curve import Curve, curves_of
from ratewindow.operations.backtest.peaks import ClientPeak, Peaks
from ratewindow.operations.backtest.suggestion import Suggestion, suggest
from testproject.urls import urlpatterns as site_urls

MINUTE_MS, DAY_MS = 60_000, 86_400_000
NOW = 64
ATTACKER, ORDINARY = "ip:203.0.113.9", "ip:198.51.100."

_PAGE = """{% extends "admin/ratewindow/page.html" %}
{% block extrastyle %}{{ block.super }}{{ media.css }}{% endblock %}
{% block extrahead %}{{ block.super }}{{ media.js }}{% endblock %}
{% block content %}<div id="content-main" class="rw-report">
{% for curve in curves %}{% include "admin/ratewindow/curve/curve.html" %}{% endfor %}
<label for="rate">Rate</label> <input id="rate" data-rw-limit="rw-curve-60000">
</div>{% endblock %}"""


@cache
def days() -> tuple[Curve, Curve, Suggestion]:
    """An ordinary day and an attacked one, and what the second suggests."""
    chance = random.Random(5)
    requests = []
    for client in range(300):
        for _ in range(chance.randint(1, 3)):
            start_ms = chance.randrange(DAY_MS)
            times = [start_ms + chance.randrange(MINUTE_MS) for _ in range(min(20, int(chance.lognormvariate(1.5, 0.8)) + 1))]
            requests += [(at_ms, f"{ORDINARY}{client}", 200) for at_ms in times]
    attack = [(DAY_MS // 3 + number * 300, ATTACKER, 401) for number in range(3000)]
    clients = [_clients(requests), _clients([*requests, *attack])]
    suggestion = suggest(clients[1], MINUTE_MS, DAY_MS)
    assert suggestion.limit is not None
    ordinary, attacked = curves_of(clients, MINUTE_MS, also=[NOW, suggestion.limit])
    return ordinary, attacked, suggestion


def _clients(requests: list[tuple[int, str, int]]) -> list[ClientPeak]:
    peaks = Peaks(MINUTE_MS)
    for at_ms, client, status in sorted(requests):
        method, target = ("POST", "/login/?next=/") if status == 401 else ("GET", "/search/")
        peaks.add(client, at_ms, status=status, method=method, target=target, agent="Mozilla/5.0 (X11; Linux x86_64)")
    return [*peaks.taken_clients(0, DAY_MS)]


@staff_member_required
def page(request: HttpRequest) -> HttpResponse:
    ordinary, attacked, suggestion = days()
    if "compare" in request.GET:
        shown = admin_curve.shown(
            request, attacked, suggestion=suggestion, now=NOW, name="21 November", beside=ordinary, beside_name="14 November"
        )
    else:
        shown = admin_curve.shown(request, attacked, suggestion=suggestion, now=NOW)
    context = {
        **admin.site.each_context(request),
        "title": "Curve",
        "app": apps.get_app_config("ratewindow"),
        "media": admin_curve.MEDIA,
        "curves": [shown],
    }
    return HttpResponse(engines["django"].from_string(_PAGE).render(context, request))


urlpatterns = [path("admin/curve/", page), *site_urls]
