"""`manage.py ratewindow clean --everything`: all that a site that leaves has in Redis. No test here may ask the database
unless it says so, since the tables may be gone already."""

import builtins
import re
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import redis
from django.test import override_settings

import ratewindow
from ratewindow import rooms
from ratewindow.counting.counters import counters
from ratewindow.health import processes
from ratewindow.operations import cleaning, switch_off
from ratewindow.store import process_clients, state_keys
from ratewindow.store.shared_prefix import announce_site
from tests.support.commands import define, from_me, run, wrong

FOREIGN = {"session:1", "rw", "rwx:token", "rw:locks:1", "rw:s2:x", "other:s:x", "rw:minutes"}


def names() -> set[str]:
    return {name for part in (state_keys, *(room for room, _ in rooms.known())) for name in part.key_names}


@pytest.fixture
def filled(redis_client: redis.Redis) -> int:
    """Keys of every name of ours, whose number it returns, and those of others."""
    ours = ["rw:token", *(f"rw:{name}:a:{{b}}" for name in names())]
    redis_client.mset(dict.fromkeys([*ours, *FOREIGN], 1))
    return len(ours)


@pytest.fixture
def at_a_terminal(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Somebody who answers so; returns what was asked."""

    def answering(answer: str) -> list[str]:
        asked: list[str] = []
        monkeypatch.setattr(sys, "stdin", type("Terminal", (), {"isatty": lambda _: True})())
        monkeypatch.setattr(builtins, "input", lambda question: asked.append(question) or answer)
        return asked

    return answering


def test_all_of_ours_goes_and_all_of_others_stays(redis_client: redis.Redis, filled: int) -> None:
    told = run("clean", "--everything", "--no-input").splitlines()[-1]
    assert told == f"{filled} keys of ratewindow under the prefix 'rw' deleted"
    assert set(redis_client.keys()) == FOREIGN


def test_a_dry_run_asks_nobody_and_deletes_nothing(redis_client: redis.Redis, filled: int) -> None:
    before = set(redis_client.keys())
    assert run("clean", "--everything", "--dry-run").startswith(
        f"{filled} keys of ratewindow under the prefix 'rw' would be deleted"
    )
    assert set(redis_client.keys()) == before


@pytest.mark.parametrize("answer", ["", "no", "y", "YES"])
def test_whoever_does_not_say_yes_keeps_all(redis_client: redis.Redis, filled: int, at_a_terminal: Any, answer: str) -> None:
    before, asked = set(redis_client.keys()), at_a_terminal(answer)
    assert wrong("clean", "--everything") == "Nothing was deleted."
    assert set(redis_client.keys()) == before
    assert len(asked) == 1 and process_clients.shown() in asked[0]


def test_whoever_says_yes_keeps_nothing(redis_client: redis.Redis, filled: int, at_a_terminal: Any) -> None:
    at_a_terminal("yes")
    run("clean", "--everything")
    assert set(redis_client.keys()) == FOREIGN


def test_where_nobody_can_be_asked_it_says_how_to_go_on(redis_client: redis.Redis, filled: int) -> None:
    before = set(redis_client.keys())
    assert "--no-input" in wrong("clean", "--everything")
    assert set(redis_client.keys()) == before


def test_it_says_how_many_processes_run_and_would_write_again(redis_client: redis.Redis) -> None:
    assert "Processes that run now: 0. " in run("clean", "--everything", "--no-input")
    processes.beat()
    assert "Processes that run now: 1. " in run("clean", "--everything", "--no-input")
    assert not redis_client.keys()


@pytest.mark.parametrize("how", ["--no-input", "--dry-run"])
def test_it_refuses_where_another_site_has_announced_itself(redis_client: redis.Redis, filled: int, how: str) -> None:
    redis_client.hset("rw:sites", "another", f"{int(time.time())} ")
    before = set(redis_client.keys())
    assert "Another site uses the key prefix 'rw'" in wrong("clean", "--everything", how)
    assert set(redis_client.keys()) == before


def test_in_memory_there_is_nothing_to_ask_or_delete(settings: Any) -> None:
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "REDIS": "memory://"}):
        assert run("clean", "--everything") == (
            "nothing to delete: with memory:// each process counts for itself, and its counts end with it"
        )


def test_it_looks_at_no_more_keys_in_a_second_than_it_may(redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    rests_s: list[float] = []
    monkeypatch.setattr(cleaning.time, "sleep", rests_s.append)
    redis_client.mset({f"rw:s:{number}": 1 for number in range(1000)})
    run("clean", "--everything", "--no-input", "--rate", "400")
    assert set(rests_s) == {0.5} and 4 <= len(rests_s) <= 8
    assert not redis_client.keys()


def test_of_a_cluster_every_master_is_cleaned(cluster: redis.RedisCluster, cluster_url: str, settings: Any) -> None:
    for number in range(300):
        cluster.set(f"rw:s:{number}:{{{number}}}", 1)
        cluster.set(f"shop:{number}", 1)
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "REDIS": cluster_url}):
        assert run("clean", "--everything", "--no-input").splitlines()[-1].startswith("300 keys of ratewindow ")
    left = cluster.keys(target_nodes=redis.RedisCluster.PRIMARIES)
    assert len(left) == 300 and all(name.startswith(b"shop:") for name in left)


@pytest.mark.django_db(transaction=True)
def test_what_requests_and_staff_have_written_goes(redis_client: redis.Redis) -> None:
    define("login", "2/h", applies_to="all", penalty="10m")
    assert from_me(3) == [200, 200, 429]
    counters.flush()
    switch_off.turn_off(None, "a trial", "ann")
    processes.beat()
    announce_site()
    assert {key.split(":")[1] for key in redis_client.scan_iter()} == {*state_keys.key_names}
    run("clean", "--everything", "--no-input")
    assert not redis_client.keys()


def test_every_name_that_the_code_gives_a_key_is_one_that_is_deleted() -> None:
    """A key of a new name would stay."""
    sources = "".join(path.read_text() for path in Path(ratewindow.__file__).parent.rglob("*.py"))
    given = re.findall(r"key_prefix\}:(?:\{\{)?(\w+)", sources)
    assert len(given) >= 6
    assert set(given) == {name.strip("{}") for name in names()}
