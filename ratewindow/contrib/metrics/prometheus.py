"""What is exported to Prometheus, by prometheus_client: names, what each means, and its values now. No label has an identity.

Sites that export their other metrics by it, as with django-prometheus, find ours among them::

    from prometheus_client import REGISTRY
    from ratewindow.contrib.metrics.prometheus import Collector

    REGISTRY.register(Collector())  # in the `ready` of one of the site's apps
"""

from collections.abc import Iterator, Sequence
from itertools import accumulate

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector as _Collector
from redis.exceptions import RedisError

from ratewindow import conf
from ratewindow.conf.in_words import in_english
from ratewindow.contrib.metrics import totals
from ratewindow.counting.counters import counters
from ratewindow.counting.sums import BOUNDS
from ratewindow.health import overview
from ratewindow.limiter.redis.thread_deadline import limited
from ratewindow.rulebook import current, kill_switch
from ratewindow.store import process_clients

READ_S = 1.0  # within which the totals are read: a scrape is no request of the site


class Collector(_Collector):
    """The states, and the totals unless they cannot be read: then they are left out, since they must not fall."""

    def collect(self) -> Iterator[Metric]:
        with in_english():
            store, processes = overview.look(at_server=False)
        known = _totals() if store["reachable"] else None
        yield from _states(processes, known is not None)
        if known is not None:
            yield from _of_totals(known)

    def describe(self) -> list[Metric]:
        """Nothing, so that registering asks no Redis."""
        return []


def _totals() -> totals.Totals | None:
    if process_clients.in_memory():
        return totals.of_process(counters.since_start())
    try:
        with limited(READ_S):
            return totals.read(process_clients.patient_client())
    except (RedisError, OSError):  # `up` says it
        return None


def _of_totals(known: totals.Totals) -> Iterator[Metric]:
    by_rule = known.counts()
    for name, about in totals.COUNTS.items():
        counts = CounterMetricFamily(f"ratewindow_{name}", about, labels=["rule"])
        for rule, of_rule in by_rule.items():
            counts.add_metric([rule], of_rule[name])
        yield counts
    reasons = CounterMetricFamily(
        "ratewindow_reasons", "Why the rule refused, or was decided without Redis.", labels=["rule", "reason"]
    )
    for labels, count in sorted(known.reasons.items()):
        reasons.add_metric(labels, count)
    yield reasons
    yield _latency([(float(bound) / 1000, known.latency.get(bound, 0)) for bound in BOUNDS])


def _latency(spans: Sequence[tuple[float, int]]) -> Metric:
    """The last span also has what took longer. For the sum each decision took the middle of its span, which begins at 0.7 of
    its end."""
    bounds = [*(f"{bound_s:g}" for bound_s, _ in spans[:-1]), "+Inf"]
    buckets = list(zip(bounds, accumulate(count for _, count in spans), strict=True))
    sum_s = sum(0.85 * bound_s * count for bound_s, count in spans)
    return HistogramMetricFamily(
        "ratewindow_decision_seconds", "How long the decisions took that asked Redis.", buckets, sum_value=sum_s
    )


def _states(processes: Sequence[overview.Process], is_up: bool) -> Iterator[Metric]:
    limits_on = conf.current().enabled and not kill_switch.off
    yield GaugeMetricFamily("ratewindow_up", "Whether Redis answered this scrape.", is_up)
    yield GaugeMetricFamily("ratewindow_enabled", "Whether limits are on: 0 while they are switched off.", limits_on)
    yield GaugeMetricFamily("ratewindow_rules", "Rules that the scraped process holds.", len(current.of_site().by_name))
    by_state = GaugeMetricFamily(
        "ratewindow_processes", "Processes of the site: those that count on Redis, and those without it.", labels=["state"]
    )
    states = [process["breaker"] for process in processes]
    for breaker, state in (("closed", "counting"), ("open", "without_redis")):
        by_state.add_metric([state], states.count(breaker))
    yield by_state
