"""Who was refused, collected: however often, late or at once, the same rows in the end."""

import random
import threading
from contextlib import suppress
from datetime import timedelta

import pytest
from django.db import connection
from django.db.models import Q
from django.test import override_settings

from ratewindow.counting import collecting
from ratewindow.counting.collecting import collect_stats, minute_start, read_who, store_who
from ratewindow.counting.counters import Counters
from ratewindow.counting.sums import MOST_CLIENTS, Counted, Group, Who
from ratewindow.models import OffenderStat
from tests.support.made_counts import NOW_MINUTE, NOW_S, add_rows
from tests.support.made_offenders import met, refused, sent_who

pytestmark = pytest.mark.django_db

COLUMNS = "resolution", "start", "rule", "kind", "value", "refused", "would_refuse", "met", "distinct"


def rows():
    return sorted(OffenderStat.objects.values_list(*COLUMNS), key=str)


def stored(resolution="minute", rule="login"):
    """Clients by how often each was refused, in the order of time."""
    found = read_who(Q(resolution=resolution, rule=rule))
    return [{name: counted.refused for name, counted in who.clients.named.items()} for _, who in sorted(found.items())]


def traffic(seed, process_count=3, minutes=(0, 1, 61)):
    """Decisions of some processes in some minutes, sent to Redis."""
    random_ = random.Random(seed)
    for ago in minutes:
        for number in range(process_count):
            process = Counters(lambda ago=ago: NOW_S - 60 * ago)
            for _ in range(300):
                who = f"ip:203.0.{random_.randrange(4)}.{int(random_.expovariate(0.02)) % 256}"
                process.record([met(who, random_.choice(["passed", "refused", "would_refuse"]), f"rule{number % 2}")])
            process.flush()


@pytest.fixture
def wanted(redis_client):
    """The rows of some traffic that was collected once; then it is waiting again, and nothing is collected."""
    traffic(2)
    collect_stats(NOW_S)
    found = rows()
    OffenderStat.objects.all().delete()
    redis_client.flushdb()
    traffic(2)
    return found


def test_rows_come_back_as_they_were_set():
    who = Who(
        Counted(2, 1, 9),
        Group({"ip:203.0.113.9": Counted(2, 1)}, Counted(0, 3)),
        Group({"ip:203.0.113.0/24": Counted(2, 1, 0)}),
        "0" * 256,
    )
    key = (minute_start(NOW_MINUTE), "login")
    assert store_who({key: who}) == 3
    assert read_who(Q(resolution="minute")) == {key: who}


def test_clients_of_all_processes_are_added_up_and_folded_into_hours_and_days():
    sent_who(0, {"login": refused(a=3, b=1)}, "p1")
    sent_who(0, {"login": refused(a=2)}, "p2")
    sent_who(1, {"login": refused(a=10)})
    sent_who(61, {"login": refused(c=7), "api": refused(a=1)})
    collect_stats(NOW_S)
    assert stored() == [{"user:c": 7}, {"user:a": 10}, {"user:a": 5, "user:b": 1}]
    assert stored("hour") == [{"user:c": 7}, {"user:a": 10}, {"user:a": 5, "user:b": 1}]
    assert stored("day") == [{"user:a": 15, "user:b": 1, "user:c": 7}]
    assert stored("day", "api") == [{"user:a": 1}]


def test_collecting_twice_changes_nothing_and_writes_nothing(django_assert_max_num_queries):
    traffic(1)
    collect_stats(NOW_S)
    before = rows()
    ids = set(OffenderStat.objects.values_list("pk", flat=True))
    collect_stats(NOW_S)
    assert rows() == before and set(OffenderStat.objects.values_list("pk", flat=True)) == ids


@pytest.mark.parametrize("step", ["store_who", "store_sums", "_prune"])
@pytest.mark.parametrize("after", [0, 1, 2])
def test_a_collector_killed_between_two_steps_is_made_good_by_the_next_run(wanted, monkeypatch, step, after):
    monkeypatch.setattr(collecting, "MINUTES_AT_ONCE", 1)
    done, work = [], getattr(collecting, step)

    def killed(*arguments):
        if len(done) == after:
            raise KeyboardInterrupt
        done.append(True)
        return work(*arguments)

    monkeypatch.setattr(collecting, step, killed)
    with suppress(KeyboardInterrupt):
        collect_stats(NOW_S)
    monkeypatch.setattr(collecting, step, work)
    collect_stats(NOW_S)
    assert rows() == wanted


def test_a_collector_killed_while_it_writes_leaves_no_half_of_a_minute(monkeypatch):
    traffic(3, minutes=(0,))

    def killed(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(collecting, "_rows", killed)
    with pytest.raises(KeyboardInterrupt):
        collect_stats(NOW_S)
    assert not OffenderStat.objects.exists()
    monkeypatch.undo()
    collect_stats(NOW_S)
    assert OffenderStat.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_two_collectors_at_once_end_with_the_rows_of_one(wanted):
    errors = []

    def collect():
        try:
            collect_stats(NOW_S)
        except Exception as error:
            errors.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=collect) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if connection.vendor != "sqlite":  # whose tables in memory may be locked: the next run then does it
        assert not errors
    collect_stats(NOW_S)
    assert rows() == wanted


def test_an_older_report_of_a_minute_lowers_nothing():
    key = (minute_start(NOW_MINUTE), "login")
    assert store_who({key: refused(a=9, b=1)}) == 3
    assert store_who({key: refused(a=5)}) == 0
    assert stored() == [{"user:a": 9, "user:b": 1}]
    assert store_who({key: refused(a=10, c=1)}) == 3
    assert stored() == stored("day") == [{"user:a": 10, "user:b": 1, "user:c": 1}]


def test_redis_that_lost_its_counts_lowers_nothing(redis_client):
    sent_who(0, {"login": refused(a=9)})
    collect_stats(NOW_S)
    redis_client.flushdb()
    sent_who(0, {"login": refused(a=2)})
    collect_stats(NOW_S)
    assert stored() == stored("hour") == stored("day") == [{"user:a": 9}]


def test_what_a_slow_process_sends_late_is_added():
    sent_who(30, {"login": refused(a=5)}, "fast", now_s=NOW_S - 1800)
    collect_stats(NOW_S)
    sent_who(30, {"login": refused(a=3, b=1)}, "slow")
    collect_stats(NOW_S)
    assert stored() == stored("hour") == stored("day") == [{"user:a": 8, "user:b": 1}]


def test_a_span_of_time_has_a_bounded_number_of_rows():
    named = {f"user:{number}": Counted(number % 90 + 1) for number in range(100)}
    for ago in range(1, 6):
        sent_who(ago, {"login": Who(Counted(900, 0, 900), Group(named))}, f"p{ago}")
        moved = {name.replace("user", f"user{ago}"): counted for name, counted in named.items()}
        sent_who(ago, {"login": Who(Counted(900, 0, 900), Group(moved))}, f"q{ago}")
    collect_stats(NOW_S)
    for resolution, spans in (("minute", 5), ("hour", 1), ("day", 1)):
        clients = OffenderStat.objects.filter(resolution=resolution, kind="client").exclude(value="")
        assert clients.count() <= spans * MOST_CLIENTS


def test_old_rows_are_deleted_as_retention_says():
    for resolution, kept in (("minute", timedelta(days=2)), ("hour", timedelta(days=60)), ("day", timedelta(days=730))):
        for age in (kept, kept + timedelta(days=1)):
            add_rows(resolution, {(minute_start(NOW_MINUTE) - age, "login"): refused(a=1)})
    collect_stats(NOW_S)
    assert OffenderStat.objects.filter(kind="all").count() == 3


def test_no_key_is_without_expiry(redis_client):
    traffic(5, 1, (0,))
    collect_stats(NOW_S)
    assert all(redis_client.ttl(key) > 0 for key in redis_client.keys("*"))


def test_on_a_cluster_it_is_collected_as_on_one_server(wanted, cluster_url, settings):
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "REDIS": cluster_url}):
        traffic(2)
        collect_stats(NOW_S)
        collect_stats(NOW_S)
    assert rows() == wanted
