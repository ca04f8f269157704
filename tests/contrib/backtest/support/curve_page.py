"""A page of the admin with nothing but a curve, of a day with an attack."""

import random
from functools import cache

from django.apps import apps
from django.contrib import admin
from django.contrib.admin.views.decorators import staff_member_required
from django.http import HttpRequest, HttpResponse
from django.template import engines
from django.urls import path

from ratewindow.contrib.backtest.clients import Clients
from ratewindow.contrib.backtest.curve import curve_of, suggest
from ratewindow.contrib.backtest.logs.entry import Entry
from ratewindow.contrib.backtest.page import MEDIA, of_period
from ratewindow.contrib.backtest.result import Busy, OfPeriod
from testproject.urls import urlpatterns as site_urls

MINUTE_MS, DAY_MS = 60_000, 86_400_000
NOW = 64
ATTACKER, ORDINARY = "ip:203.0.113.9", "ip:198.51.100."

_PAGE = """{% extends "admin/ratewindow/page.html" %}
{% block extrastyle %}{{ block.super }}{{ media.css }}{% endblock %}
{% block extrahead %}{{ block.super }}{{ media.js }}{% endblock %}
{% block content %}<div id="content-main" class="rw-report">
{% include "admin/ratewindow/backtest/curve.html" %}
<label for="limit">Number</label> <input id="limit" data-rw-limit="rw-curve-60000">
</div>{% endblock %}"""


@cache
def day() -> OfPeriod:
    chance = random.Random(5)
    requests = []
    for client in range(300):
        for _ in range(chance.randint(1, 3)):
            start_ms = chance.randrange(DAY_MS)
            times = [start_ms + chance.randrange(MINUTE_MS) for _ in range(min(20, int(chance.lognormvariate(1.5, 0.8)) + 1))]
            requests += [(at_ms, f"{ORDINARY}{client}", 200) for at_ms in times]
    requests += [(DAY_MS // 3 + number * 300, ATTACKER, 401) for number in range(3000)]
    return of_requests(sorted(requests))


def of_requests(requests: list[tuple[int, str, int]], agent: str = "Mozilla/5.0 (X11; Linux x86_64)") -> OfPeriod:
    """Of requests with their times, clients and statuses."""
    clients = Clients(1)
    for at_ms, client, status in requests:
        method, target = ("POST", "/login/?next=/") if status == 401 else ("GET", "/search/")
        clients.add(client, (at_ms,), Entry(at_ms / 1000, client, method, target, status, agent=agent))
    peaks = [*clients.peaks(MINUTE_MS, 1, lambda status: True)]
    suggested = suggest(peaks, MINUTE_MS, DAY_MS)
    curve = curve_of(peaks, MINUTE_MS, also=[limit for limit in (NOW, suggested.limit) if limit is not None])
    return OfPeriod(NOW, curve, suggested, [Busy(each, "", clients.sample(each.client)) for each in curve.highest])


@staff_member_required
def page(request: HttpRequest) -> HttpResponse:
    context = {
        **admin.site.each_context(request),
        "title": "Curve",
        "app": apps.get_app_config("ratewindow"),
        "media": MEDIA,
        "curve": of_period(request, day()),
    }
    return HttpResponse(engines["django"].from_string(_PAGE).render(context, request))


urlpatterns = [path("admin/curve/", page), *site_urls]
