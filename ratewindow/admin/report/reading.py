"""What the report page shows, read for the query string of a request."""

from django.http import HttpRequest

from ratewindow.admin.banner import glance
from ratewindow.admin.report.form import ReportForm
from ratewindow.conf import time_zone
from ratewindow.reporting import reading
from ratewindow.reporting.reading import Reading


def read(request: HttpRequest, form: ReportForm, most: int = 40) -> Reading:
    """`most` names of each kind: clients, networks, routes, user agents."""
    now = time_zone.now()
    return reading.read(form.to_period(now), form.rules(), now, most, ask_redis=glance(request).reachable)
