"""`manage.py ratewindow check`: in order, or what is not, in words and as an exit status."""

import io
import json
import time

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import override_settings

from ratewindow import api
from ratewindow.counting import minutes
from ratewindow.counting.sums import Sums
from ratewindow.health import processes
from ratewindow.identity import address
from ratewindow.identity.address import SAMPLE
from ratewindow.models import LimitSwitch
from ratewindow.operations import switch_off
from ratewindow.rulebook import kill_switch
from ratewindow.rulebook.kill_switch import ON
from ratewindow.store import state_keys
from ratewindow.store.breaker import FAILURES_TO_OPEN
from testproject.redis_server import free_port
from tests.faults.injectors import own_server
from tests.support.servers import server_of_its_own

pytestmark = pytest.mark.django_db


def check():
    """What it says, and its complaint or None."""
    out = io.StringIO()
    try:
        call_command("ratewindow", "check", stdout=out)
    except CommandError as error:
        return out.getvalue(), str(error) if error.returncode == 1 else f"status {error.returncode}"
    return out.getvalue(), None


def with_settings(**changed):
    return override_settings(RATEWINDOW={**settings.RATEWINDOW, **changed})


def test_a_site_in_order_is_told_its_server_and_its_rules(redis_client):
    said, complaint = check()
    assert complaint is None
    assert "Settings: no problems." in said
    info = redis_client.info("server")
    version = info.get("valkey_version") or info["redis_version"]
    assert f"answers, {'Valkey' if 'valkey_version' in info else 'Redis'} {version}." in said
    assert "demo.limited" in said


def test_a_server_that_is_away_is_named_without_its_password():
    with with_settings(REDIS=f"redis://:hidden@127.0.0.1:{free_port()}/0"):
        said, complaint = check()
    assert "does not answer" in said
    assert "hidden" not in said + complaint
    assert complaint == "Redis does not answer: requests pass uncounted until it does."


def test_a_proxy_that_is_not_trusted_is_a_complaint(monkeypatch):
    monkeypatch.setattr(address, "warnings", [])
    assert check()[1] is None
    monkeypatch.setattr(address, "_sample", [("10.0.0.1", "HTTP_X_FORWARDED_FOR", number) for number in range(SAMPLE)])
    address.judge_sample()
    said, complaint = check()
    assert complaint == "A proxy is not trusted."
    assert "State: All visitors share one address, 10.0.0.1, which looks like your proxy" in said


def test_that_nobody_collects_is_a_complaint():
    now_s = time.time()
    minutes.send({int(now_s) // 60 - 71: {"p|login": Sums(passed=1)}}, now_s - 3700)
    said, complaint = check()
    assert complaint == "Nobody collects." and "State: Nobody collects: run Celery's beat" in said


def test_memory_is_no_server_and_no_error():
    with with_settings(REDIS="memory://"):
        said, complaint = check()
    assert complaint is None
    assert "Redis: not used, each process counts for itself in memory." in said


def test_an_unknown_setting_is_an_error_that_names_the_nearest():
    with with_settings(TIMEOT="100ms"):
        said, complaint = check()
    assert "Did you mean 'TIMEOUT'?" in said
    assert "The settings need correcting." in complaint


def test_a_database_without_tables_says_what_to_run():
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE ratewindow_raterule RENAME TO ratewindow_elsewhere")
    complaint = check()[1]
    assert complaint == "The rules cannot be read: run manage.py migrate."


def test_it_says_that_limits_are_off_also_where_only_redis_knows(redis_client):
    switch_off.turn_off(None, "a trial", "ann")
    LimitSwitch.objects.all().delete()
    kill_switch.turned, kill_switch.off = ON, False
    said, complaint = check()
    assert "Limits are off until somebody switches them on, by ann: a trial." in said
    assert complaint is None


def test_another_process_that_decides_without_redis_fails_it(redis_client):
    name = "web|7|gunicorn|a"
    redis_client.zadd(state_keys.processes(), {name: time.time()})
    told = {"breaker": "open", "degraded_since": "2026-11-20T12:03:00+00:00", "servers": ["Redis"], "error": "store:timeout"}
    redis_client.set(state_keys.process(name), json.dumps({**processes.own(), **told}))
    said, complaint = check()
    assert "in 1 of 2 processes: requests pass uncounted." in said
    assert complaint == "Limiting is degraded."


def test_a_server_that_answers_and_decides_nothing_fails_it():
    with own_server() as server:
        server.stop()
        server.start("--rename-command", "EVALSHA", "")
        with with_settings(REDIS=server.url, TIMEOUT="5s"):
            said, complaint = check()
    assert "Decisions: they fail: NoScripts: this server runs no Lua scripts" in said
    assert complaint == "Decisions by Redis fail: requests pass uncounted until it does."


def test_a_database_that_is_not_there_fails_it():
    with own_server() as server, with_settings(REDIS=server.url.removesuffix("0") + "99"):
        said, complaint = check()
    assert "DB index is out of range" in said
    assert complaint == "Redis does not answer: requests pass uncounted until it does."


def test_a_server_without_lua_fails_it_and_what_holds_then_holds(caplog):
    options = ("--rename-command", "EVAL", "NOEVAL", "--rename-command", "EVALSHA", "NOEVALSHA")
    with server_of_its_own(*options) as port, with_settings(REDIS=f"redis://127.0.0.1:{port}/0", ON_ERROR="refuse"):
        said, complaint = check()
        decisions = [api.hit("demo.limited", "user:42") for _ in range(FAILURES_TO_OPEN)]
    assert "Decisions: they fail: NoScripts: this server runs no Lua scripts" in said
    assert complaint.startswith("Decisions by Redis fail: requests are refused")
    assert [(each.allowed, each.cause) for each in decisions] == [(False, "store:unsupported")] * FAILURES_TO_OPEN
    assert "this server runs no Lua scripts, and every decision is one: take a Redis or Valkey that does" in caplog.text
