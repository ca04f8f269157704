"""Records of processes that another version, or anybody, may have written: each is read on its own."""

import json
import time
from io import StringIO
from typing import Any

import pytest
import redis
from django.core.management import CommandError, call_command
from django.test import Client, override_settings
from django.urls import reverse
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from ratewindow.admin.report import health_page
from ratewindow.health import overview, process_record, processes
from ratewindow.store import state_keys

FIELDS = sorted(process_record._FIELDS)
GOOD = "web1|4711|gunicorn|abcdef"
ODD = "web2|4712|gunicorn|abcdef"

anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(codec=None), max_size=20)
    | st.sampled_from(["open", "closed", "silent", "2026-11-20T12:03:00+00:00", "0001-01-01", "9999-12-31T23:59:59", 10**400]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=6,
)


def write(client: redis.Redis, name: str, said: Any, seen_s: float | None = None) -> None:
    client.zadd(state_keys.processes(), {name: time.time() if seen_s is None else seen_s})
    client.set(state_keys.process(name), said if isinstance(said, str | bytes) else json.dumps(said))


@hypothesis_settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(said=st.dictionaries(st.sampled_from(FIELDS), anything, max_size=6) | anything, name=st.just(GOOD) | st.text(max_size=30))
def test_whatever_a_record_says_it_is_odd_or_can_be_shown(said: Any, name: str) -> None:
    text = json.dumps(said).encode()
    try:
        process = process_record.read(name, text, 1_790_000_000.0)
    except Exception:
        return
    found = [process, processes.own()]
    problems = overview._problems({"reachable": True}, found, "")
    shown = [*problems, *overview._warnings(found), *overview._sharing(found), *overview._missed(found, long=True)]
    line = health_page.process_line(process)
    "".join([*shown, line.name, line.kind, line.since, line.breaker, line.rules, line.switch, line.fallback]).encode()
    json.dumps(process).encode()


@pytest.mark.parametrize("field", FIELDS)
def test_a_record_with_an_odd_field_is_left_out_alone(
    field: str, redis_client: redis.Redis, caplog: pytest.LogCaptureFixture
) -> None:
    write(redis_client, GOOD, {**processes.own(), "rules": 7})
    write(redis_client, ODD, {**processes.own(), field: [[5]] if field != "servers" else 5})
    for _ in range(2):
        told = overview.status()
    assert [each["host"] for each in told["processes"]][:-1] == ["web1"]
    assert told["ok"], told
    assert "1 odd thing in Redis left out by this process, which its log names." in told["warnings"]
    named = [record.getMessage() for record in caplog.records if ODD in record.getMessage()]
    assert len(named) == 1 and f"process record in Redis is left out, '{ODD}' (logged once): {field}: " in named[0]


@pytest.mark.parametrize(
    "name, said, seen_s",
    [
        (ODD, b"\xff\x00", None),
        (ODD, "[" * 100_000, None),
        (ODD, "9" * 5_000, None),
        (ODD, {"degraded_since": "0001-01-01T00:00:00+14:00", "breaker": "open"}, None),
        (ODD, {}, float("inf")),
        (ODD, {}, -1e300),
        (f"web2|{'9' * 400}|gunicorn|x", {}, None),
        (f"web2|{'9' * 10}|gunicorn|x", {}, None),
        ("web2|٣|gunicorn|x", {}, None),
        ("|||", {}, None),
        ("\x1b[2J|1|\x00|x", {}, None),
    ],
)
@pytest.mark.django_db(transaction=True)
def test_no_record_breaks_state_check_health_or_the_banner(
    name: str, said: Any, seen_s: float | None, redis_client: redis.Redis, admin_client: Client
) -> None:
    write(redis_client, name, said, seen_s)
    write(redis_client, GOOD, processes.own())
    assert "web1" in {each["host"] for each in overview.status()["processes"]}
    assert overview.glance().problems == []
    assert admin_client.get(reverse("admin:ratewindow_state")).status_code == 200
    out = StringIO()
    call_command("ratewindow", "check", stdout=out)
    assert "web1 4711" in out.getvalue() and "\x1b" not in out.getvalue()


def test_an_open_breaker_without_a_beginning_is_open_since_it_told(redis_client: redis.Redis) -> None:
    write(redis_client, GOOD, {"breaker": "open"})
    assert " in 1 of 2 processes: requests pass uncounted." in overview.status()["summary"]


def test_lines_and_marks_in_what_a_process_tells_are_one_line(redis_client: redis.Redis) -> None:
    write(redis_client, GOOD, {**processes.own(), "warnings": ["one\ntwo\u202e\ud800"]})
    assert "one two  " in overview.status()["warnings"]


@pytest.mark.django_db(transaction=True)
def test_processes_with_another_secret_key_are_a_problem_that_check_tells(redis_client: redis.Redis) -> None:
    own = processes.own()
    write(redis_client, GOOD, own)
    assert overview.status()["ok"]
    with override_settings(SECRET_KEY="made anew in this process"):
        write(redis_client, ODD, processes.own())
    told = "3 processes have 2 different SECRET_KEYs or PEPPERs, and so count apart: each limit holds 2 times."
    assert overview.status()["problems"] == [f"{told} Give all of them the same."]
    out = StringIO()
    with pytest.raises(CommandError, match="degraded"):
        call_command("ratewindow", "check", stdout=out)
    assert told in out.getvalue()
    write(redis_client, ODD, {**processes.own(), "secret": "another", "database": "another site's"})
    assert overview.status()["ok"]
