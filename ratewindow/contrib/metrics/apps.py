"""The room of metrics."""

from django.utils.translation import gettext_lazy as _

from ratewindow import rooms


class MetricsConfig(rooms.Room):
    name = "ratewindow.contrib.metrics"
    verbose_name = _("Metrics of rate limits")
    gives = "totals and states for Prometheus, and OpenTelemetry"
    stores = "totals, in one hash of Redis"

    sends_also = "ratewindow.contrib.metrics.totals.addition"
