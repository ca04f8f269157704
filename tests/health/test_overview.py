"""The state of the limiter, told to monitors, pages and listeners: right while all is well, and most of all when not."""

import json
import logging
import os
import socket
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.conf import settings
from django.test import override_settings
from redis.exceptions import ResponseError

import ratewindow
from ratewindow.conf import in_words
from ratewindow.health import overview, processes
from ratewindow.limiter.problem import Problem
from ratewindow.limiter.rates import parse_rates
from ratewindow.rulebook import current, edits, reading
from ratewindow.rulebook.current import Rulebook
from ratewindow.rules.rule import Rule
from ratewindow.store import outage, process_clients, server_info, state_keys, stores
from ratewindow.store.breaker import FAILURES_TO_OPEN
from tests.faults.proxy import proxied

NOWHERE = "redis://127.0.0.1:1/0"


@pytest.fixture(autouse=True)
def _a_new_process(monkeypatch: pytest.MonkeyPatch) -> None:
    processes.reset()


def open_breaker() -> None:
    for _ in range(FAILURES_TO_OPEN):
        outage.breaker.failed(TimeoutError("no answer"))


def another(host: str, pid: int, **changed: Any) -> None:
    """What another process tells of itself."""
    name = f"{host}|{pid}|{changed.get('kind', 'gunicorn')}|{pid:x}"
    client = process_clients.patient_client()
    client.zadd(state_keys.processes(), {name: changed.pop("seen_s", time.time())})
    client.set(state_keys.process(name), json.dumps({**processes.own(), **changed}), ex=processes.RECORD_S)


def test_all_is_well_and_json_can_say_it() -> None:
    current._held.book = Rulebook([Rule("api", parse_rates("5/m"))])
    processes.beat()
    told = json.loads(json.dumps(overview.status()))
    assert (told["ok"], told["state"], told["since"], told["problems"], told["warnings"]) == (True, "ok", None, [], [])
    assert told["summary"] == "This process counts on Redis."
    store = told["store"]
    assert store["reachable"] and store["server"] in ("Redis", "Valkey") and store["version"][0].isdigit()
    assert store["memory_used"] > 0 and store["keys"] >= 1 and store["eviction_policy"] and store["latency_ms"] > 0
    (me,) = told["processes"]
    assert (me["pid"], me["host"], me["breaker"], me["switch"]) == (os.getpid(), socket.gethostname(), "closed", "on")
    assert told["rules"]["count"] == me["rules"] == 1
    assert datetime.fromisoformat(told["rules"]["read"]) <= datetime.now(UTC)
    assert told["switch"] == {"off": False, "setting": True, "until": None, "by": "", "reason": ""}


def test_two_of_five_processes_are_degraded_since_the_first_of_them_was() -> None:
    since = [processes.moment(time.time() - ago) for ago in (60, 300)]
    for number in range(4):
        told = {"breaker": "open", "degraded_since": since[number % 2], "servers": ["Redis"], "error": "store:timeout"}
        another("web", 100 + number, **(told if number < 2 else {}))
    processes.beat()
    told = overview.status()
    assert (told["ok"], told["state"], told["since"]) == (False, "degraded", since[1])
    clock = overview.clock(since[1])
    assert told["summary"] == f"Redis unavailable (timeout) since {clock} in 2 of 5 processes: requests pass uncounted."


def test_while_redis_is_silent_this_process_tells_its_own_view_and_asks_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    another("web", 100)
    processes.beat()
    open_breaker()
    monkeypatch.setattr(process_clients, "client", lambda: pytest.fail("it was asked"))
    told = overview.status()
    clock = overview.clock(told["since"])
    assert told["summary"] == f"Redis unavailable (timeout) since {clock}: requests pass uncounted."
    assert told["store"]["reachable"] is False
    assert [each["pid"] for each in told["processes"]] == [os.getpid()]


def test_a_redis_that_answers_but_cannot_be_used_is_named_with_its_cause() -> None:
    for _ in range(FAILURES_TO_OPEN):
        outage.breaker.failed(ResponseError("OOM command not allowed when used memory > 'maxmemory'."))
    assert overview.status()["summary"].startswith("Redis unavailable (oom) since")


def test_what_holds_is_said_as_the_rules_say() -> None:
    current._held.book = Rulebook([Rule("login", parse_rates("5/m"), on_error="refuse")])
    open_breaker()
    assert overview.status()["summary"].endswith(": requests are refused with 503.")


def test_a_redis_that_nobody_has_missed_yet_is_missed_by_the_monitor() -> None:
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "REDIS": NOWHERE}):
        told = overview.status()
    assert not told["ok"]
    assert told["summary"].startswith("Redis does not answer here (ConnectionError")


def test_a_process_that_tells_no_more_is_no_longer_listed(redis_client: Any) -> None:
    processes.beat()
    another("elsewhere", 7)
    assert len(overview.status()["processes"]) == 2
    redis_client.delete(state_keys.process("elsewhere|7|gunicorn|7"))
    assert len(overview.status()["processes"]) == 1


def test_what_a_process_tells_expires(redis_client: Any) -> None:
    processes.beat()
    keys = redis_client.keys("rw:{processes}*")
    assert len(keys) == 2
    assert all(0 < redis_client.pttl(key) <= processes.INDEX_S * 1000 for key in keys)
    assert redis_client.pttl(state_keys.process(processes._self.name)) <= processes.RECORD_S * 1000


def test_the_name_of_a_process_that_has_ended_leaves_the_index(redis_client: Any) -> None:
    another("elsewhere", 7, seen_s=time.time() - processes.INDEX_S - 5)
    processes.beat()
    assert redis_client.zcard(state_keys.processes()) == 1


@pytest.mark.parametrize("junk", ["not json", "[]", "5", "null", "[" * 100_000, "9" * 5_000, b"\xff\x00", '{"breaker": "open"}'])
def test_what_another_program_wrote_there_is_no_process(redis_client: Any, junk: str | bytes) -> None:
    redis_client.zadd(state_keys.processes(), {"x": time.time(), "web|1|gunicorn|a": time.time(), "web|x|y|z": 1})
    redis_client.set(state_keys.process("web|1|gunicorn|a"), junk)
    another("web1", 4711)
    assert [each["host"] for each in overview.status()["processes"]] == ["web1", socket.gethostname()]


def test_decisions_without_redis_are_counted_by_cause() -> None:
    current._held.book = Rulebook([Rule("api", parse_rates("5/m"))])
    open_breaker()
    for _ in range(3):
        ratewindow.hit("api", "user:1")
    assert overview.status()["fallback"] == {"store:timeout": 3}


@pytest.mark.parametrize(
    ("failed", "decisions", "ok", "warned"),
    [
        ({}, 1000, True, False),
        ({"store:timeout": 2}, 2, True, True),
        ({"store:timeout": 3}, 3, False, False),
        ({"store:timeout": 9}, 1000, True, True),
        ({"store:timeout": 10}, 1000, False, False),
        ({"store:noperm": 2}, 1000, True, True),
        ({"store:noperm": 500}, 1000, False, False),
    ],
)
def test_decisions_that_fail_though_redis_is_there_are_a_problem_unless_they_may_be_hiccups(
    failed: dict[str, int], decisions: int, ok: bool, warned: bool
) -> None:
    another("web", 100, lately={"failed": failed, "decisions": decisions})
    told = overview.status()
    assert (told["ok"], any("of the last minute" in text for text in told["warnings"])) == (ok, warned)
    if not ok:
        assert told["summary"].startswith(f"{sum(failed.values())} of {decisions} decisions of the last minute were made without")
        assert overview.status(at_server=False)["problems"]


def test_what_was_decided_in_an_outage_that_is_over_is_no_problem_any_more() -> None:
    current._held.book = Rulebook([Rule("api", parse_rates("5/m"))])
    outage._failures.extend([(time.monotonic(), "store:timeout", "api")] * 2)
    open_breaker()
    ratewindow.hit("api", "user:1")
    outage.breaker.look()
    assert not overview.status()["ok"]
    ratewindow.hit("api", "user:1")
    told = overview.status()
    assert (told["ok"], told["warnings"]) == (True, [])


def test_rules_that_cannot_be_read_are_a_problem() -> None:
    reading._progress.problem = Problem(reading._UNREAD, error="no such table")
    told = overview.status()
    assert told["problems"] == ["The rules cannot be read, those held stay in force: no such table."]


def test_whatever_goes_wrong_it_never_raises(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(processes, "own", lambda: 1 / 0)
    with caplog.at_level(logging.ERROR, "ratewindow"):
        told = overview.status()
    assert not told["ok"] and "ZeroDivisionError" in told["summary"]
    assert overview.status(at_server=False)["problems"]


@pytest.mark.parametrize(
    ("store", "said"),
    [
        ({"eviction_policy": "allkeys-lru", "memory_max": 100, "memory_used": 5}, "Redis evicts keys"),
        ({"eviction_policy": "volatile-ttl", "memory_max": None, "memory_used": 5}, None),
        ({"eviction_policy": None, "memory_max": None, "memory_used": None}, None),
    ],
)
def test_a_server_that_works_may_be_warned_of(store: dict[str, Any], said: str | None) -> None:
    found = server_info.warnings(store)
    assert found == [] if said is None else found[0].startswith(said)


def test_warnings_of_other_processes_are_in_the_language_of_the_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_words, "gettext", lambda text: f"⟦{text}⟧")
    for number in range(2):
        another("web", 100 + number, warnings=[("{count} requests", {"count": number})])
    assert overview.status()["warnings"] == ["⟦⟦1 requests⟧.⟧"]


def test_processes_with_another_secret_key_are_a_problem() -> None:
    another("web1", 1)
    assert overview.status()["ok"]
    with override_settings(SECRET_KEY="made anew in this process"):
        another("web2", 2)
    text = "3 processes have 2 different SECRET_KEYs or PEPPERs, and so count apart: each limit holds 2 times."
    assert overview.status()["problems"] == [f"{text} Give all of them the same."]


@pytest.fixture
def dripping(redis_url: str) -> Iterator[None]:
    """A server whose answers come a byte at a time: INFO would take minutes."""
    at = urlsplit(redis_url)
    with proxied(at.port or 6379) as proxy:
        url = f"redis://127.0.0.1:{proxy.port}{at.path}"
        with override_settings(RATEWINDOW={**settings.RATEWINDOW, "REDIS": url, "TIMEOUT": "100ms"}):
            processes.beat()
            edits.check_redis()  # connections are open, as those of a process that has run for a while
            assert overview.status()["ok"]
            with proxy.drip(0.05):
                yield
            process_clients.close()


@pytest.mark.usefixtures("dripping")
def test_a_server_that_drips_holds_up_neither_monitors_nor_pages_nor_the_kill_switch() -> None:
    began_s = time.monotonic()
    assert not overview.status()["store"]["reachable"]
    assert not overview.status(at_server=False)["store"]["reachable"]
    edits.check_redis()
    assert edits._state.is_alone
    assert time.monotonic() - began_s < 30.0


def test_the_address_is_told_without_its_password() -> None:
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "REDIS": "redis://:hidden@127.0.0.1:1/0"}):
        assert "hidden" not in json.dumps(overview.status())


def test_on_a_cluster_one_server_that_is_away_is_named(cluster_url: str) -> None:
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "REDIS": cluster_url}):
        processes.beat()
        told = overview.status()
        assert told["ok"] and told["store"]["masters"] == 3
        server = "127.0.0.1:7777"
        for _ in range(FAILURES_TO_OPEN):
            stores.shards.failed(server, TimeoutError())
        told = overview.status()
        assert told["summary"].startswith(f"{server} unavailable (timeout) since")
        assert told["store"]["reachable"]


def test_so_they_are_without_statistics() -> None:
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "STATS": False}):
        current._held.book = Rulebook([Rule("api", parse_rates("5/m"))])
        open_breaker()
        for _ in range(3):
            ratewindow.hit("api", "user:1")
        assert overview.status()["fallback"] == {"store:timeout": 3}
