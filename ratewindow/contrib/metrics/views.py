"""The view that serves the metrics. Every process answers the same, since totals are read from Redis: any one may be scraped."""

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe
from prometheus_client import generate_latest

from ratewindow.contrib.metrics.prometheus import Collector


@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """For the site's URLs: ``path("metrics/", metrics)``. Whoever reaches it reads the names of rules."""
    return HttpResponse(text(), "text/plain; version=0.0.4; charset=utf-8", headers={"Cache-Control": "no-store"})


def text() -> str:
    """All metrics in the text format."""
    return generate_latest(Collector()).decode()
