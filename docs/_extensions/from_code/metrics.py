"""The metrics as a scrape names them, each with its type and help."""

from prometheus_client import Metric

from from_code.markdown import code, plain, table
from ratewindow.contrib.metrics import prometheus, totals

PAGES = ("contrib/metrics",)


def add(page: str) -> str:
    rows = [(code(_name(metric)), metric.type, plain(metric.documentation)) for metric in _of_nothing()]
    return f"{page}\n## What a scrape says\n\n{table(('metric', 'type', 'help'), rows)}\n"


def _of_nothing() -> list[Metric]:
    """All metrics, of a site that has counted nothing."""
    return [*prometheus._of_totals(totals.Totals()), *prometheus._states([], is_up=True)]


def _name(metric: Metric) -> str:
    return f"{metric.name}_total" if metric.type == "counter" else metric.name
