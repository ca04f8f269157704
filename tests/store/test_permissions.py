"""The line of access control in the documentation is enough for everything, and what lacks is named."""

import asyncio
import io
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
from django.conf import settings
from django.core.management import CommandError, call_command
from django.test import RequestFactory, override_settings

import ratewindow
from ratewindow import ratelimit
from ratewindow.counting.collecting import collect_stats
from ratewindow.counting.counters import counters
from ratewindow.health import overview, processes
from ratewindow.limiter.algorithms import algorithm_choices
from ratewindow.models import RateRule
from ratewindow.operations.cleaning import clean_orphans
from ratewindow.rulebook import edits
from ratewindow.store import outage, process_clients, server_info, shared_prefix, stores
from tests.faults.injectors import OwnServer, own_server
from tests.support.doors import plain

USER, PASSWORD = "ratewindow", "secret"
PAGE = Path(ratewindow.__file__).parent.parent / "docs" / "operators" / "redis.md"


def documented() -> list[str]:
    """The line as it stands in the documentation."""
    (line,) = re.findall(r"^ACL SETUSER ratewindow .*$", PAGE.read_text("utf-8"), re.MULTILINE)
    return line.replace("PASSWORD", PASSWORD).split()


@pytest.fixture
def boss() -> Iterator[OwnServer]:
    """A server whose default user stays what it is."""
    with own_server() as server:
        server.tell(*documented())
        yield server


@pytest.fixture
def on_it(boss: OwnServer) -> Iterator[None]:
    url = f"redis://{USER}:{PASSWORD}@127.0.0.1:{boss.port}/0"
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "REDIS": url, "TIMEOUT": "5s"}):
        yield
        process_clients.close()


def test_the_documented_line_is_the_one_that_is_checked() -> None:
    rights = [f"+{name}" for name in server_info.COMMANDS]
    assert documented() == ["ACL", "SETUSER", USER, "reset", "on", f">{PASSWORD}", "~rw:*", *rights]


@pytest.mark.django_db
@pytest.mark.usefixtures("on_it")
def test_with_this_line_everything_works_and_nothing_is_denied(boss: OwnServer) -> None:
    for name, _ in algorithm_choices():
        rule, _ = RateRule.objects.define(f"rule.{name}", "3/h", prefix="/", key="ip", mode="enforce")
        rule.windows.update(algorithm=name)
        penalty, counts = ("10s" if name == "fixed_window" else ""), name == "sliding_log"
        RateRule.objects.filter(pk=rule.pk).update(penalty=penalty, count_refused=counts)
    edits.announce()
    edits.check_redis()
    view = ratelimit("code", "2/h", key="ip")(plain(False))
    assert [view(RequestFactory().get("/")).status_code for _ in range(3)] == [200, 200, 429]
    for name, _ in algorithm_choices():
        for _ in range(5):
            told = ratewindow.hit(f"rule.{name}", "ip:192.0.2.1")
        assert not told and not told.cause
        ratewindow.refund(f"rule.{name}", "ip:192.0.2.1")
        ratewindow.reset(f"rule.{name}", "ip:192.0.2.1")

    async def on_a_loop() -> None:
        for name, _ in algorithm_choices():
            assert not (await ratewindow.ahit(f"rule.{name}", "ip:192.0.2.2")).cause
            await ratewindow.arefund(f"rule.{name}", "ip:192.0.2.2")
            await ratewindow.areset(f"rule.{name}", "ip:192.0.2.2")

    asyncio.run(on_a_loop())
    stores.probe()
    counters.flush()
    shared_prefix.announce_site()
    processes.beat()
    told_state = overview.status()
    assert told_state["ok"], told_state
    collect_stats()
    RateRule.objects.filter(name="rule.token_bucket").delete()
    clean_orphans()
    call_command("ratewindow", "check", stdout=io.StringIO())
    call_command("ratewindow", "off", "--for", "1m", stdout=io.StringIO())
    call_command("ratewindow", "on", stdout=io.StringIO())
    assert boss.tell("ACL", "LOG") == []
    assert not outage.breaker.open


@pytest.mark.usefixtures("on_it")
def test_every_right_that_lacks_is_named(boss: OwnServer) -> None:
    with redis.Redis(port=boss.port, username=USER, password=PASSWORD, protocol=2) as client:
        assert server_info.lacking(client) == []
        for name in server_info.COMMANDS:
            boss.tell("ACL", "SETUSER", USER, f"-{name}")
            assert server_info.lacking(client) == [f"+{name}"]
            boss.tell("ACL", "SETUSER", USER, f"+{name}")
        boss.tell("ACL", "SETUSER", USER, "resetkeys", "~theirs:*")
        assert server_info.lacking(client) == ["~rw:*"]
        for one_part in ("~rw:s:*", "~rw:token"):
            boss.tell("ACL", "SETUSER", USER, "resetkeys", one_part)
            assert server_info.lacking(client) == ["~rw:*"]


@pytest.mark.django_db
@pytest.mark.usefixtures("on_it")
def test_check_says_what_to_write(boss: OwnServer) -> None:
    boss.tell("ACL", "SETUSER", USER, "-evalsha", "-rpush")
    out = io.StringIO()
    with pytest.raises(CommandError, match="Our Redis user needs more permissions"):
        call_command("ratewindow", "check", stdout=out)
    assert "Permissions: our Redis user needs more. Run: ACL SETUSER <user> +evalsha +rpush" in out.getvalue()


@pytest.mark.django_db
def test_a_wrong_password_is_said_and_not_shown(boss: OwnServer) -> None:
    url = f"redis://{USER}:mistyped@127.0.0.1:{boss.port}/0"
    out = io.StringIO()
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "REDIS": url}), pytest.raises(CommandError):
        call_command("ratewindow", "check", stdout=out)
    assert "does not answer: invalid username-password pair" in out.getvalue()
    assert "mistyped" not in out.getvalue()


@pytest.mark.django_db
def test_on_a_cluster_two_more_are_enough(cluster_ports: list[int], cluster: redis.RedisCluster) -> None:
    servers = [redis.Redis(port=port, decode_responses=True, protocol=2) for port in cluster_ports]
    more = ["+cluster|slots", "+command"]  # which redis-py sends when it connects
    assert " ".join(more) in PAGE.read_text("utf-8")
    for each in servers:
        each.execute_command(*documented(), *more)
        each.execute_command("ACL", "LOG", "RESET")
    url = f"redis+cluster://{USER}:{PASSWORD}@127.0.0.1:{cluster_ports[0]}"
    try:
        with override_settings(RATEWINDOW={**settings.RATEWINDOW, "REDIS": url, "TIMEOUT": "5s"}):
            edits.announce()
            edits.check_redis()
            view = ratelimit("code", "2/h", key="ip")(plain(False))
            assert [view(RequestFactory().get("/")).status_code for _ in range(3)] == [200, 200, 429]
            asyncio.run(ratewindow.areset("code", "ip:192.0.2.1"))
            counters.flush()
            processes.beat()
            shared_prefix.announce_site()
            collect_stats()
            clean_orphans()
            assert overview.status()["ok"]
            assert [server_info.lacking(master) for master in process_clients.masters()] == [[]] * 3
            process_clients.close()
        assert [each.execute_command("ACL", "LOG") for each in servers] == [[]] * 3
    finally:
        for each in servers:
            each.execute_command("ACL", "DELUSER", USER)
            each.close()
