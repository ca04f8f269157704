"""The whole app on a Redis Cluster, and on a master that Sentinels name."""

import asyncio
import contextlib
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import redis
from django.conf import settings
from django.core.management import call_command
from django.http import HttpRequest
from django.test import RequestFactory, override_settings

from ratewindow.counting.collecting import collect_stats
from ratewindow.counting.counters import counters
from ratewindow.models import RateRule, ThrottleStat
from ratewindow.operations.cleaning import clean_orphans
from ratewindow.rulebook import reading
from ratewindow.store import process_clients, shared_prefix, state_keys
from tests.support.crowd import admitted_by_eight_processes
from tests.support.doors import behind_middleware, decorated, get, plain, statuses
from tests.support.servers import Watched, until


@contextmanager
def site_on(url: str) -> Iterator[None]:
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "REDIS": url, "TIMEOUT": "5s"}):
        yield
    process_clients.close()


@pytest.fixture
def on_cluster(cluster_url: str) -> Iterator[None]:
    with site_on(cluster_url):
        yield


@pytest.fixture
def on_sentinel(watched: Watched) -> Iterator[None]:
    with site_on(watched.url):
        yield


@pytest.mark.slow
def test_eight_processes_at_a_limit_of_fifty_admit_fifty_on_a_cluster(
    program_environment: dict[str, str], cluster_url: str
) -> None:
    assert admitted_by_eight_processes({**program_environment, "RATEWINDOW_REDIS_URL": cluster_url}) == (50, 0)


@pytest.mark.slow
def test_and_so_they_do_behind_sentinels(program_environment: dict[str, str], watched: Watched) -> None:
    assert admitted_by_eight_processes({**program_environment, "RATEWINDOW_REDIS_URL": watched.url}) == (50, 0)


@pytest.mark.django_db
@pytest.mark.usefixtures("on_cluster")
@pytest.mark.parametrize("is_async", [False, True])
def test_two_rules_for_two_clients_of_one_request_hold_together_on_a_cluster(is_async: bool) -> None:
    RateRule.objects.define("address", "3/h", prefix="/", key="ip", mode="enforce")
    RateRule.objects.define("key", "2/h", prefix="/", key="header:x-api-key", mode="enforce")
    reading.reload()
    site = behind_middleware(plain(is_async))
    asked = [
        ("a", "192.0.2.1"),
        ("a", "192.0.2.1"),
        ("a", "192.0.2.1"),
        ("b", "192.0.2.1"),
        ("b", "192.0.2.1"),
        ("b", "192.0.2.2"),
    ]
    told = [get(site, HTTP_X_API_KEY=key, REMOTE_ADDR=address) for key, address in asked]
    # The third is refused by its key and costs its address nothing; the fifth by its address, and so costs its key nothing.
    assert [each.status_code for each in told] == [200, 200, 429, 200, 429, 200]
    assert [('"key"' in each["RateLimit"], '"address"' in each["RateLimit"]) for each in told] == [(True, True)] * 6


@pytest.mark.django_db
@pytest.mark.usefixtures("on_cluster")
def test_counts_are_collected_and_orphans_cleaned_on_a_cluster(cluster: redis.RedisCluster) -> None:
    RateRule.objects.define("login", "5/m", path="/login/", mode="enforce")
    RateRule.objects.define("gone", "5/m", path="/gone/", mode="enforce")
    reading.reload()
    site = behind_middleware(plain(False))
    for number in range(12):
        for path in ("/login/", "/gone/"):
            assert get(site, path, REMOTE_ADDR=f"192.0.2.{number}").status_code == 200
    counters.flush()
    assert collect_stats().startswith("minutes read: 1, ")
    assert sum(ThrottleStat.objects.filter(rule="login", resolution="minute").values_list("passed", flat=True)) == 12
    shared_prefix.announce_site()
    RateRule.objects.get(name="gone").delete()
    reading.reload()
    assert clean_orphans() == "24 keys seen, 12 of no rule and 0 without an expiry deleted"
    left = cluster.keys(f"{state_keys.state_prefix()}*", target_nodes=redis.RedisCluster.PRIMARIES)
    assert len(left) == 12


@pytest.mark.django_db
@pytest.mark.usefixtures("on_cluster")
def test_check_says_that_it_is_a_cluster(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("ratewindow", "check")
    assert "answers, a cluster of 3 masters, " in capsys.readouterr().out


@pytest.mark.django_db
@pytest.mark.usefixtures("on_sentinel")
def test_orphans_are_cleaned_from_the_master_that_sentinels_name(watched: Watched) -> None:
    def orphan(number: int) -> None:
        with redis.Redis(port=watched.master) as master:
            master.set(f"{state_keys.state_prefix()}{'gone' * 4}:{{{number}}}", 1, ex=60)

    def cleaned_away(number: int) -> bool:
        with contextlib.suppress(redis.RedisError), redis.Redis(port=watched.master) as master:
            clean_orphans()  # the first one after a failover may still ask the old master, which refuses to delete
            return not master.keys(f"*{{{number}}}")
        return False

    orphan(1)
    assert clean_orphans() == "1 keys seen, 1 of no rule and 0 without an expiry deleted"
    watched.fail_over()
    orphan(2)
    until(lambda: cleaned_away(2), "the orphan of the new master stayed")


@pytest.mark.usefixtures("on_sentinel")
def test_a_demoted_master_is_left_for_the_new_one(watched: Watched) -> None:
    seen: list[HttpRequest] = []
    view = decorated(False, "failover", "50/h", key="global", seen=seen)
    aview = decorated(True, "failover", "50/h", key="global", seen=seen)

    def decided_alone() -> list[bool]:
        alone = [request.ratewindow.reason == "store" for request in seen]  # type: ignore[attr-defined]
        seen.clear()
        return alone

    async def ask(times: int) -> list[int]:
        return [(await aview(RequestFactory().get("/"))).status_code for _ in range(times)]

    with asyncio.Runner() as runner:
        assert statuses(view, 2) + runner.run(ask(2)) == [200] * 4
        assert not any(decided_alone())
        watched.fail_over()
        # One decision each may be made without the store: the one that finds its master demoted.
        statuses(view, 4)
        assert decided_alone()[1:] == [False] * 3
        runner.run(ask(4))
        assert decided_alone()[1:] == [False] * 3
    with redis.Redis(port=watched.master) as master:
        assert len(master.keys(f"{state_keys.state_prefix()}*")) == 1
