"""OpenTelemetry sees each call of Redis as a span and each process's counts; without it nothing is replaced."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import AsyncClient, Client
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from ratewindow.contrib.metrics import open_telemetry
from ratewindow.limiter.redis.store import AsyncRedisStore, RedisStore
from ratewindow.models import RateRule

pytestmark = pytest.mark.django_db(transaction=True)
ADDRESS = "203.0.113.9"


@pytest.fixture
def spans() -> Iterator[InMemorySpanExporter]:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    open_telemetry.instrument(tracer_provider=provider, meter_provider=MeterProvider())
    yield exporter
    open_telemetry.uninstrument()
    provider.shutdown()


def ask(is_async: bool) -> int:
    if is_async:
        response: Any = asyncio.run(AsyncClient().get("/search/", REMOTE_ADDR=ADDRESS))  # type: ignore[arg-type]
    else:
        response = Client().get("/search/", REMOTE_ADDR=ADDRESS)
    return int(response.status_code)


@pytest.mark.parametrize("is_async", [False, True])
def test_a_decision_is_a_span_with_the_names_of_its_rules(spans: InMemorySpanExporter, is_async: bool) -> None:
    RateRule.objects.define("limited", "5/m", path="/search/", mode="enforce")
    assert ask(is_async) == 200
    (span,) = spans.get_finished_spans()
    assert (span.name, span.kind) == ("ratewindow.decide", SpanKind.CLIENT)
    assert span.attributes is not None and span.attributes["ratewindow.rules"] == ("limited",)
    assert span.attributes["db.system.name"] == "redis"
    assert ADDRESS not in span.to_json()


@pytest.mark.parametrize("kind", [RedisStore, AsyncRedisStore])
def test_a_call_that_fails_is_a_span_with_the_error(monkeypatch: pytest.MonkeyPatch, kind: type) -> None:
    def fail(*arguments: object) -> object:
        if kind is RedisStore:
            raise ConnectionResetError("away")
        answer = asyncio.get_running_loop().create_future()
        answer.set_exception(ConnectionResetError("away"))
        return answer

    monkeypatch.setattr(kind, "run", fail)
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    open_telemetry.instrument(provider, MeterProvider())

    async def fails() -> None:
        with pytest.raises(ConnectionResetError):
            await kind.run(None, [], "hit")  # type: ignore[attr-defined]
        await asyncio.sleep(0)  # the span ends after the answer

    try:
        if kind is RedisStore:
            with pytest.raises(ConnectionResetError):
                kind.run(None, [], "hit")  # type: ignore[attr-defined]
        else:
            asyncio.run(fails())
    finally:
        open_telemetry.uninstrument()
    (span,) = exporter.get_finished_spans()
    assert span.status.status_code is StatusCode.ERROR and [event.name for event in span.events] == ["exception"]


def test_the_counts_of_this_process_are_instruments() -> None:
    RateRule.objects.define("limited", "1/m", path="/search/", mode="enforce")
    reader = InMemoryMetricReader()
    open_telemetry.instrument(TracerProvider(), MeterProvider([reader]))
    try:
        assert [ask(False) for _ in range(3)] == [200, 429, 429]
        assert observed(reader) == {
            "ratewindow.hits": 3,
            "ratewindow.within_limit": 1,
            "ratewindow.over_limit": 2,
            **dict.fromkeys(("ratewindow.shadow_mode", "ratewindow.other_rule", "ratewindow.fallback"), 0),
            "ratewindow.near_limit": 1,
        }
    finally:
        open_telemetry.uninstrument()
    assert observed(reader) == {}


def observed(reader: InMemoryMetricReader) -> dict[str, int]:
    data: Any = reader.get_metrics_data()
    if data is None:
        return {}
    metrics = [each for resource in data.resource_metrics for scope in resource.scope_metrics for each in scope.metrics]
    points = [(each.name, point) for each in metrics for point in each.data.data_points]
    assert all(dict(point.attributes) == {"ratewindow.rule": "limited"} for _, point in points)
    return {name: point.value for name, point in points}


def test_without_it_the_stores_are_as_they_were(spans: InMemorySpanExporter) -> None:
    traced = RedisStore.run, AsyncRedisStore.run
    open_telemetry.instrument()  # a second time changes nothing
    assert traced == (RedisStore.run, AsyncRedisStore.run)
    open_telemetry.uninstrument()
    assert RedisStore.run.__module__ == AsyncRedisStore.run.__module__ == "ratewindow.limiter.redis.store"
