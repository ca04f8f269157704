"""A collector for prometheus_client, for sites that export their other metrics by it, as with django-prometheus.

::

    from prometheus_client import REGISTRY
    from ratewindow.health.metrics.prometheus import Collector

    REGISTRY.register(Collector())  # in the `ready` of one of the site's apps
"""

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector as _Collector

from ratewindow.health.metrics.exposition import cumulated, estimated_sum
from ratewindow.health.metrics.families import Family, families


class Collector(_Collector):
    """The metrics of the view `ratewindow.health.metrics.view`, read from Redis at each scrape."""

    def collect(self) -> Iterator[Metric]:
        return map(_metric, families())

    def describe(self) -> list[Metric]:
        """Nothing, so that registering asks no Redis."""
        return []


def _metric(family: Family) -> Metric:
    if family.kind == "histogram":
        return HistogramMetricFamily(family.name, family.about, cumulated(family), sum_value=estimated_sum(family))
    kind = CounterMetricFamily if family.kind == "counter" else GaugeMetricFamily
    names = [name for name, _ in family.samples[0][0]] if family.samples else []
    metric = kind(family.name, family.about, labels=names)
    for labels, value in family.samples:
        metric.add_metric([value_ for _, value_ in labels], value)
    return metric
