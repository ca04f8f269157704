"""Who was refused, collected: however often, late or at once, the same rows in the end."""

import random
import threading
from datetime import timedelta

import pytest
from django.db import connection
from django.test import override_settings

from ratewindow.models import OffenderStat
from ratewindow.reporting import collecting, offender_rows
from ratewindow.reporting.collecting import collect_stats
from ratewindow.reporting.counters import Counters
from ratewindow.reporting.offender_rows import read, set_rows
from ratewindow.reporting.stored import Resolution, minute_start
from ratewindow.reporting.who import CLIENT, MOST_BUSY, MOST_REFUSED, NETWORK, Counted, Group, Known, Who
from tests.support.made_counts import NOW_MINUTE, NOW_S
from tests.support.made_offenders import met, refused, sent_who

pytestmark = pytest.mark.django_db

COLUMNS = "resolution", "start", "rule", "kind", "value", "refused", "would_refuse", "met", "signed_in", "network", "distinct"


def rows():
    return sorted(OffenderStat.objects.values_list(*COLUMNS), key=str)


def stored(resolution="minute", rule="login"):
    """Clients by how often each was refused, in the order of time."""
    found = read(OffenderStat.objects.filter(resolution=resolution, rule=rule))
    return [{name: known.counted.refused for name, known in who.groups[CLIENT].named.items()} for _, who in sorted(found.items())]


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
        {
            CLIENT: Group({"ip:203.0.113.9": Known(Counted(2, 1, 7), True, "ip:203.0.113.0/24")}, Counted(0, 0, 3)),
            NETWORK: Group({"ip:203.0.113.0/24": Known(Counted(2, 1, 0))}),
        },
        "0" * 256,
    )
    key = (minute_start(NOW_MINUTE), "login")
    assert set_rows(Resolution.MINUTE, {key: who}) == 1
    assert read(OffenderStat.objects.all()) == {key: who}


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


@pytest.mark.parametrize("step", ["_store", "_fold", "_fold_offenders", "_prune"])
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
    try:
        collect_stats(NOW_S)
    except KeyboardInterrupt:
        assert rows() != wanted or step == "_prune"
    monkeypatch.setattr(collecting, step, work)
    collect_stats(NOW_S)
    assert rows() == wanted


def test_a_collector_killed_while_it_writes_leaves_no_half_of_a_minute(monkeypatch):
    traffic(3, minutes=(0,))

    def killed(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(offender_rows, "_rows", killed)
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


def test_an_older_report_of_a_minute_replaces_nothing():
    key = (minute_start(NOW_MINUTE), "login")
    assert set_rows(Resolution.MINUTE, {key: refused(a=9, b=1)}) == 1
    assert set_rows(Resolution.MINUTE, {key: refused(a=5)}) == 0
    assert stored() == [{"user:a": 9, "user:b": 1}]
    assert set_rows(Resolution.MINUTE, {key: refused(a=10, c=1)}) == 1
    assert stored() == [{"user:a": 10, "user:c": 1}]


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


def test_pruned_minutes_do_not_lower_the_hour_they_were_folded_into(redis_client):
    sent_who(1, {"login": refused(a=9)})
    sent_who(2, {"login": refused(b=9)})
    collect_stats(NOW_S)
    OffenderStat.objects.filter(resolution="minute").delete()
    redis_client.flushdb()
    sent_who(1, {"login": refused(a=10)})
    collect_stats(NOW_S)
    assert stored("day") == [{"user:a": 9, "user:b": 9}]


def test_a_span_of_time_has_a_bounded_number_of_rows():
    named = {f"user:{number}": Known(Counted(number % 90 + 1, 0, 5)) for number in range(100)}
    for ago in range(1, 6):
        sent_who(ago, {"login": Who(Counted(900, 0, 900), {CLIENT: Group(named)})}, f"p{ago}")
        moved = {name.replace("user", f"user{ago}"): known for name, known in named.items()}
        sent_who(ago, {"login": Who(Counted(900, 0, 900), {CLIENT: Group(moved)})}, f"q{ago}")
    collect_stats(NOW_S)
    for resolution, spans in (("minute", 5), ("hour", 1), ("day", 1)):
        clients = OffenderStat.objects.filter(resolution=resolution, kind="client").exclude(value="")
        assert clients.count() <= spans * (MOST_REFUSED[CLIENT] + MOST_BUSY)


def test_old_rows_are_deleted_as_retention_says(settings):
    ages = {"minute": timedelta(minutes=61), "hour": timedelta(hours=25), "day": timedelta(days=8)}
    for resolution, age in ages.items():
        for start in (minute_start(NOW_MINUTE) - age, minute_start(NOW_MINUTE) - age + timedelta(minutes=2)):
            set_rows(resolution, {(start, "login"): refused(a=1)})
    retention = {"minute": "1h", "hour": "1d1h", "day": "8d"}
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "RETENTION": retention}):
        collect_stats(NOW_S)
    starts = OffenderStat.objects.filter(kind="all").values_list("resolution", "start")
    assert all(start >= minute_start(NOW_MINUTE) - timedelta(**_span(retention[resolution])) for resolution, start in starts)
    assert len(starts) == 5


def _span(text):
    return {"1h": {"hours": 1}, "1d1h": {"hours": 25}, "8d": {"days": 8}}[text]


def test_what_people_write_into_a_row_breaks_nothing():
    for junk in ([], "x", {"refused": 5}, {"refused": "zzz"}, 5):
        OffenderStat.objects.all().delete()
        set_rows(Resolution.MINUTE, {(minute_start(NOW_MINUTE), "login"): refused(a=1)})
        OffenderStat.objects.filter(kind="all").update(distinct=junk)
        assert stored() == [{"user:a": 1}]


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
