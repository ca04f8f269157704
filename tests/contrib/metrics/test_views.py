"""The view for Prometheus: what rules did and how the limiter is, as a parser of its own text reads it."""

from collections.abc import Iterator
from typing import Any

import pytest
import redis
from django.test import RequestFactory, override_settings
from prometheus_client.parser import text_string_to_metric_families

from ratewindow.contrib.metrics import totals, views
from ratewindow.counting.counters import counters
from ratewindow.limiter.types import Check, Decision, RuleDecision
from ratewindow.store import process_clients
from tests.support.made_counts import decision


def exported() -> dict[tuple[str, ...], float]:
    """Values by name and labels."""
    found = {}
    for family in text_string_to_metric_families(views.text()):
        for sample in family.samples:
            found[sample.name.removeprefix("ratewindow_"), *sample.labels.values()] = sample.value
    return found


def counted(*decisions: Decision) -> None:
    counters.record(decisions, who="ip:203.0.113.9")
    counters.flush()


def test_counts_have_the_names_of_envoys_service_and_add_up() -> None:
    counted(decision("login"), decision("login"), decision("login", "would_refuse"))
    counted(decision("login", "refused", "limit"), decision("login", "refused", "block"), decision("login", "other"))
    found = exported()
    assert found["hits_total", "login"] == 6
    assert found["within_limit_total", "login"] == 2
    assert found["shadow_mode_total", "login"] == 1
    assert found["over_limit_total", "login"] == 2
    assert found["other_rule_total", "login"] == 1
    assert found["near_limit_total", "login"] == found["fallback_total", "login"] == 0
    assert (found["reasons_total", "limit", "login"], found["reasons_total", "block", "login"]) == (1, 1)


def test_a_histogram_has_how_long_decisions_took() -> None:
    slow, fast = decision("login"), decision("login")
    slow.took_s, fast.took_s = 0.3, 0.0002
    counted(slow, fast, fast)
    found = exported()
    assert found["decision_seconds_count",] == found["decision_seconds_bucket", "+Inf"] == 3
    assert found["decision_seconds_bucket", "0.000256"] == 2
    assert found["decision_seconds_sum",] == pytest.approx(0.3, rel=0.3)


def test_states_are_gauges() -> None:
    found = exported()
    assert (found["up",], found["enabled",], found["processes", "counting"]) == (1, 1, 1)
    with override_settings(RATEWINDOW={"REDIS": "memory://", "ENABLED": False}):
        assert exported()["enabled",] == 0


def test_while_redis_is_away_totals_are_missing_and_never_smaller() -> None:
    counted(decision("login"))
    with override_settings(RATEWINDOW={"REDIS": "redis://127.0.0.1:1/0", "TIMEOUT": "20ms"}):
        found = exported()
    assert found["up",] == 0 and not [name for name, *_ in found if name.endswith(("_total", "_bucket"))]
    assert exported()["hits_total", "login"] == 1


def test_totals_that_are_no_hash_do_not_break_the_page(redis_client: redis.Redis) -> None:
    redis_client.set(totals.key(), "foreign")
    assert exported()["up",] == 0


def test_with_counts_in_memory_the_process_exports_its_own() -> None:
    with override_settings(RATEWINDOW={"REDIS": "memory://"}):
        counters.record([decision("login")])
        assert exported()["hits_total", "login"] == 1


def test_names_in_code_are_escaped() -> None:
    name = 'odd "name" \\ of {code}'
    counted(decision(name))
    assert exported()["hits_total", name] == 1


def test_no_label_has_an_identity() -> None:
    check = Check("login", (), (), identity="user:ann")
    counted(RuleDecision(False, rule="login", outcome="refused", reason="limit", check=check))
    assert "203.0.113" not in views.text() and "ann" not in views.text()


def test_the_view_answers_reads_alone() -> None:
    factory = RequestFactory()
    response = views.metrics(factory.get("/metrics/"))
    assert response.status_code == 200 and response["Content-Type"].startswith("text/plain; version=0.0.4")
    assert views.metrics(factory.post("/metrics/")).status_code == 405


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    client, asked = process_clients.patient_client(), list[Any]()
    execute = client.execute_command
    monkeypatch.setattr(client, "execute_command", lambda *words, **options: asked.append(words) or execute(*words, **options))
    return iter([asked])  # type: ignore[return-value]


def test_a_thousand_rules_are_read_by_one_call(calls: Iterator[list[Any]], redis_client: redis.Redis) -> None:
    asked = next(calls)
    redis_client.hset(totals.key(), mapping={f"passed|rule-{number}": "7" for number in range(1000)})
    assert len([name for name, *_ in exported() if name == "hits_total"]) == 1000
    assert [words[0] for words in asked] == ["EVAL"]
