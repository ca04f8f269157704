"""OpenTelemetry: this process's counts as instruments, and a span for each call of Redis that decides a request,
once the site calls `instrument`.

Instrumentation of redis-py does not see these calls, which are made on its connections directly. Without `instrument` none of
this costs anything: it replaces what makes the calls.
"""

import asyncio
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from opentelemetry import metrics, trace

from ratewindow.contrib.metrics import totals
from ratewindow.counting.counters import counters
from ratewindow.limiter.redis.cluster.store import AsyncClusterStore, ClusterStore
from ratewindow.limiter.redis.store import AsyncRedisStore, RedisStore
from ratewindow.limiter.types import Check, What

NAME, SPAN = "ratewindow", "ratewindow.decide"
_untraced: dict[Any, Any] = {}  # the stores' own ways to decide


def instrument(tracer_provider: trace.TracerProvider | None = None, meter_provider: metrics.MeterProvider | None = None) -> None:
    """Begin to trace and to count, with these providers or the global ones; once in each process."""
    if _untraced:
        return
    tracer = trace.get_tracer(NAME, tracer_provider=tracer_provider)
    for store, traced in _WAYS.items():
        _untraced[store] = store.run
        store.run = traced(tracer, store.run)
    meter = metrics.get_meter(NAME, meter_provider=meter_provider)
    for name, about in totals.COUNTS.items():
        meter.create_observable_counter(f"{NAME}.{name}", [partial(_observe, name)], unit="{request}", description=about)


def uninstrument() -> None:
    """End what `instrument` began."""
    while _untraced:
        store, run = _untraced.popitem()
        store.run = run


def _observe(name: str, options: metrics.CallbackOptions) -> Iterator[metrics.Observation]:
    if _untraced:
        for rule, counts in totals.of_process(counters.since_start()).counts().items():
            yield metrics.Observation(counts[name], {f"{NAME}.rule": rule})


def _traced(tracer: trace.Tracer, run: Callable[..., Any]) -> Callable[..., Any]:
    def run_in_span(store: Any, checks: list[Check], what: What, now_ms: int | None = None) -> Any:
        with tracer.start_as_current_span(SPAN, kind=trace.SpanKind.CLIENT, attributes=_about(checks, what)):
            return run(store, checks, what, now_ms)

    return run_in_span


def _atraced(tracer: trace.Tracer, run: Callable[..., Any]) -> Callable[..., Any]:
    def run_in_span(store: Any, checks: list[Check], what: What, now_ms: int | None = None) -> Any:
        span = tracer.start_span(SPAN, kind=trace.SpanKind.CLIENT, attributes=_about(checks, what))

        def end(answered: asyncio.Future[Any]) -> None:
            error = None if answered.cancelled() else answered.exception()
            if error is not None:
                span.record_exception(error)
            if error is not None or answered.cancelled():
                span.set_status(trace.Status(trace.StatusCode.ERROR, type(error).__name__ if error else "cancelled"))
            span.end()

        answer = run(store, checks, what, now_ms)
        answer.add_done_callback(end)
        return answer

    return run_in_span


def _about(checks: list[Check], what: What) -> dict[str, Any]:
    """Names of rules, and never whom they are about."""
    return {
        "db.system.name": "redis",
        "db.operation.name": "EVALSHA",
        "ratewindow.what": what,
        "ratewindow.rules": [check.rule for check in checks],
    }


_WAYS: dict[Any, Callable[..., Any]] = {
    RedisStore: _traced,
    ClusterStore: _traced,
    AsyncRedisStore: _atraced,
    AsyncClusterStore: _atraced,
}
