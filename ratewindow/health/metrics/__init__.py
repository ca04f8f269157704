"""Totals and states for monitors: for Prometheus by a view or a collector, for OpenTelemetry by instruments and spans."""

from ratewindow.health.metrics.exposition import text, view

__all__ = ["text", "view"]
