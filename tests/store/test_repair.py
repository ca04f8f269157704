"""What another program wrote under a key of ours is deleted by whoever owns the key, which then goes on."""

import logging
from collections.abc import Callable
from typing import Any

import pytest
import redis

from ratewindow.health import processes
from ratewindow.operations import shared_prefix
from ratewindow.operations.cleaning.orphans import clean_orphans
from ratewindow.reporting import minutes
from ratewindow.reporting.collecting import collect_stats
from ratewindow.reporting.sums import Sums
from ratewindow.store import process_clients, repair, state_keys

NOW_S = 1_800_000_000.0
NOW_MINUTE = int(NOW_S) // 60


@pytest.fixture(autouse=True)
def _nothing_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repair, "_logged_at_s", float("-inf"))
    processes.reset()


def send() -> None:
    minutes.send({NOW_MINUTE: {"p1|login": Sums(3)}}, NOW_S)


OWNERS: list[tuple[str, Callable[[], str], Callable[[], object]]] = [
    ("the index of minutes, sending", state_keys.minutes, send),
    ("the index of minutes, collecting", state_keys.minutes, lambda: minutes.waiting(NOW_S)),
    ("a minute, sending", lambda: state_keys.minute(NOW_MINUTE), send),
    ("a minute, collecting", lambda: state_keys.minute(NOW_MINUTE), lambda: minutes.read([NOW_MINUTE])),
    ("the processes, telling", state_keys.processes, processes.beat),
    ("the sites, telling", state_keys.sites, shared_prefix.announce_site),
]


@pytest.mark.parametrize(("key", "use"), [owner[1:] for owner in OWNERS], ids=[owner[0] for owner in OWNERS])
def test_whoever_owns_a_key_deletes_what_is_there_says_so_and_goes_on(
    key: Callable[[], str], use: Callable[[], object], redis_client: Any, caplog: pytest.LogCaptureFixture
) -> None:
    for value in ("text", ["list"]):
        redis_client.delete(key())
        _ = redis_client.set(key(), value) if isinstance(value, str) else redis_client.rpush(key(), *value)
        use()
        assert redis_client.type(key()) in ("zset", "hash", "none")
    assert [record.getMessage() for record in caplog.records] == [
        f"ratewindow: deleted what another program wrote under a key of ours: {key()}"
    ]


@pytest.mark.django_db
def test_nothing_that_was_sent_is_lost_but_what_was_overwritten(redis_client: Any) -> None:
    send()
    redis_client.delete(state_keys.minutes())
    redis_client.set(state_keys.minutes(), "text")
    send()
    assert collect_stats(NOW_S).minutes_read == 1


@pytest.mark.django_db
@pytest.mark.parametrize("found_by", [shared_prefix.announce_site, lambda: None], ids=["telling", "cleaning"])
def test_who_else_uses_the_prefix_is_waited_for_before_anything_is_cleaned(
    found_by: Callable[[], None], redis_client: Any
) -> None:
    redis_client.set(state_keys.sites(), "text")
    found_by()
    for _ in range(2):
        with pytest.raises(shared_prefix.SharedPrefix, match="wrote under rw:sites, so it is not known which sites"):
            clean_orphans()
    redis_client.hset(state_keys.sites(), shared_prefix.OVERWRITTEN, 1)  # two minutes ago, and more
    shared_prefix.announce_site()
    assert clean_orphans().complete


def test_any_other_refusal_is_passed_on_and_deletes_nothing(redis_client: Any, caplog: pytest.LogCaptureFixture) -> None:
    redis_client.set("rw:x", "text")

    def refused() -> None:
        raise redis.ResponseError("OOM command not allowed")

    def elsewhere() -> None:
        raise redis.ResponseError("WRONGTYPE Operation against a key")

    for ask in (refused, elsewhere):
        with caplog.at_level(logging.WARNING, "ratewindow"), pytest.raises(redis.ResponseError):
            repair.with_repair(process_clients.patient_client(), {"rw:y": "hash"}, ask)
    assert redis_client.get("rw:x") == "text" and not caplog.records
