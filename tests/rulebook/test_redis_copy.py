"""The rules in Redis, for processes that start while the database is away."""

import json
import time
from dataclasses import fields
from typing import Any

import pytest
import redis
from django.core import signing
from django.db import DatabaseError
from django.test import override_settings

from ratewindow.health import overview, processes
from ratewindow.limiter.rates import parse_rates
from ratewindow.limiter.types import Window
from ratewindow.models import RateRule
from ratewindow.rulebook import current, edits, reading, redis_copy
from ratewindow.rulebook.current import Rulebook
from ratewindow.rules.count_when import CountWhen
from ratewindow.rules.rule import Rule
from ratewindow.store import state_keys

USUAL = Rule("login", parse_rates("5/m; 20/h"), applies_to="path", pattern="/login/")
ODD = Rule(
    name="odd",
    windows=(
        Window(3, 86_400_000, "fixed_window", aligned_to="day", timezone="Europe/Berlin"),
        Window(9, 1000, "token_bucket", burst=4),
    ),
    mode="shadow",
    key="ip+post:username",
    on_missing="refuse",
    normalise=True,
    applies_to="prefix",
    pattern="/api/",
    methods=frozenset(("POST", "PUT")),
    cost=7,
    count_when=CountWhen(statuses=frozenset((401, 403))),
    hold=True,
    count_refused=True,
    penalty_ms=60_000,
    enforce_percent=25,
    on_error="refuse",
    response_status=403,
    message="Enough.",
    lease=2,
    candidate=(Window(5, 60_000), Window(9, 1000, "token_bucket", burst=4)),
)


@pytest.fixture
def away(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that starts while the database is away."""

    def refused() -> None:
        raise DatabaseError("connection refused")

    current.reset()
    reading.reset()
    monkeypatch.setattr(reading, "read_rules", refused)
    monkeypatch.setattr(edits, "_is_in_memory", lambda database: False)


def test_every_field_of_a_rule_is_kept() -> None:
    assert all(getattr(ODD, each.name) != each.default or each.name == "is_beside" for each in fields(Rule))
    redis_copy.save([USUAL, ODD, Rule("guesses", parse_rates("3/h"), count_when=CountWhen(login_failed=True))])
    found = redis_copy.load()
    assert found is not None and found.read_at_s == pytest.approx(time.time(), abs=60)
    assert found.rules[:2] == [USUAL, ODD]
    assert found.rules[2].count_when == CountWhen(login_failed=True)


def test_a_process_that_starts_without_a_database_holds_what_another_has_read(
    away: None, caplog: pytest.LogCaptureFixture
) -> None:
    redis_copy.save([USUAL])
    edits.reread()
    assert current.rulebook().by_name == {"login": USUAL}
    assert "1 rules hold as another process read them at" in caplog.text
    told = reading.status()
    assert told.error == "The rules cannot be read, those that another process read last hold: connection refused"
    assert told.read_at_s == pytest.approx(time.time(), abs=60)
    edits.reread()
    assert caplog.text.count("cannot be read") == 1


@pytest.mark.django_db(transaction=True)
def test_what_a_process_reads_itself_takes_the_place_of_the_copy_and_is_the_next_one(
    monkeypatch: pytest.MonkeyPatch, redis_client: redis.Redis
) -> None:
    RateRule.objects.define("own", "1/m")
    redis_copy.save([USUAL])
    current.reset()
    reading.reset()
    monkeypatch.setattr(edits, "_is_in_memory", lambda database: False)
    edits.reread()
    assert set(current.rulebook().by_name) == {"own"}
    found = redis_copy.load()
    assert found is not None and [rule.name for rule in found.rules] == ["own"]
    assert 0 < redis_client.ttl(state_keys.rules()) <= redis_copy.KEPT_S


def test_a_database_that_hangs_does_not_keep_the_copy_back(away: None, monkeypatch: pytest.MonkeyPatch) -> None:
    redis_copy.save([USUAL])
    current.offer(redis_copy.load())  # what the thread does before it waits for the database
    monkeypatch.setattr(current, "FIRST_READING_S", 0.01)
    assert current.rulebook().by_name == {"login": USUAL}


def test_without_a_copy_log_health_and_state_say_that_the_process_holds_no_rules(
    away: None, caplog: pytest.LogCaptureFixture
) -> None:
    edits.reread()
    said = "rules cannot be read, and this process holds none but rates in code: connection refused"
    assert f"the {said}" in caplog.text
    assert overview.status()["problems"] == [f"The {said}."]
    assert processes.own()["rules_read"] is None and processes.own()["rules_error"] == f"The {said}"


def test_of_other_processes_without_rules_health_tells_too(redis_client: redis.Redis) -> None:
    name = "web2|4711|gunicorn|abc"
    said = {"rules": 0, "rules_read": None, "rules_error": "The rules cannot be read"}
    redis_client.zadd(state_keys.processes(), {name: time.time()})
    redis_client.set(state_keys.process(name), json.dumps({**processes.own(), **said}))
    told = overview.status()["problems"]
    assert told == ["1 of 2 processes holds no rules but rates in code, since the database was away."]


def _signed(value: Any) -> str:
    return signing.dumps(value, salt=redis_copy._salt())


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "[]",
        "\x00\xff",
        json.dumps({"read": 1, "rules": [{"name": "x", "key": "os.getpid"}]}),
    ],
)
def test_what_this_site_has_not_signed_is_no_copy(text: str, redis_client: redis.Redis) -> None:
    redis_client.set(state_keys.rules(), text)
    assert redis_copy.load() is None


def test_what_this_site_has_signed_for_something_else_is_no_copy(redis_client: redis.Redis) -> None:
    redis_client.set(state_keys.rules(), signing.dumps({}))
    assert redis_copy.load() is None


def test_another_site_s_copy_is_none(redis_client: redis.Redis) -> None:
    with override_settings(SECRET_KEY="another"):
        redis_copy.save([USUAL])
    assert redis_copy.load() is None


def test_another_type_under_the_key_is_no_copy_and_is_replaced(redis_client: redis.Redis) -> None:
    redis_client.hset(state_keys.rules(), "a", "b")
    assert redis_copy.load() is None
    redis_copy.save([USUAL])
    assert redis_copy.load() is not None


def test_a_rule_that_this_version_does_not_understand_is_left_out_alone(
    redis_client: redis.Redis, caplog: pytest.LogCaptureFixture
) -> None:
    good = redis_copy._to_json(USUAL)
    odd = [
        {**good, "colour": "red"},
        {**good, "name": "No Name"},
        {**good, "key": "shoe_size"},
        {**good, "windows": [[1]]},
        5,
        {},
    ]
    redis_client.set(state_keys.rules(), _signed({"read": 1.0, "rules": [*odd, good]}))
    found = redis_copy.load()
    assert found is not None and found.rules == [USUAL]
    assert "6 rules of the copy in Redis are left out, such as" in caplog.text


def test_failing_to_read_blocks_keeps_no_rule_back(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    current.reset()
    reading.reset()
    monkeypatch.setattr(reading, "read_rules", lambda: [USUAL])

    def lost(after_edit: bool) -> None:
        raise DatabaseError('cursor "_django_curs_1" does not exist')

    monkeypatch.setattr(reading._readings.overrides, "read", lost)
    reading.reload()
    reading.reload()
    assert current.rulebook().by_name == {"login": USUAL}
    said = 'locks and exemptions cannot be read, those held stay in force: cursor "_django_curs_1" does not exist'
    assert caplog.text.count(f"b{said}") == 1
    assert overview.status()["problems"] == [f"B{said}."]
    assert reading.last().failed
    monkeypatch.setattr(reading._readings.overrides, "read", lambda after_edit: None)
    reading.reload()
    assert reading.status().error == "" and isinstance(current._held.book, Rulebook)
