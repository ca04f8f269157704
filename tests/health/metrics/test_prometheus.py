"""The collector for prometheus_client exports what the view does."""

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from ratewindow.health import metrics
from ratewindow.health.metrics.prometheus import Collector
from ratewindow.reporting import counters
from tests.support.made_counts import decision


def samples(text: str) -> set[tuple[object, ...]]:
    found = text_string_to_metric_families(text)
    return {(each.name, *sorted(each.labels.items()), each.value) for family in found for each in family.samples}


def test_a_registry_exports_what_the_view_does() -> None:
    took = decision("login")
    took.took_s = 0.0002
    counters.record([took, decision("search", "refused", "limit")])
    counters.flush()
    registry = CollectorRegistry()
    registry.register(Collector())
    assert samples(generate_latest(registry).decode()) == samples(metrics.text())
