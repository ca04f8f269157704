"""Collecting sets, so that running it twice, late, or only half changes nothing."""

from datetime import timedelta

import pytest
from django.db.models import Q
from django.test import override_settings

from ratewindow.counting import collecting, minutes
from ratewindow.counting.collecting import collect_stats, minute_start, read_sums, store_sums
from ratewindow.counting.sums import Sums
from ratewindow.models import ThrottleStat
from ratewindow.models.stats import Resolution
from tests.support.made_counts import NOW_MINUTE, NOW_S, sent

pytestmark = pytest.mark.django_db


def stored(resolution):
    rows = sorted(read_sums(Q(resolution=resolution)).items())
    return [(round((minute_start(NOW_MINUTE) - start) / timedelta(minutes=1)), rule, sums) for (start, rule), sums in rows]


def everything():
    return [stored(resolution) for resolution in Resolution]


def test_the_sums_of_all_processes_become_one_row_for_each_minute_and_rule():
    sent(0, {"login": Sums(passed=3, refused=2), "api": Sums(passed=1)}, "p1")
    sent(0, {"login": Sums(passed=4, would_refuse=1)}, "p2")
    sent(1, {"login": Sums(passed=9, fallback=9)}, "p1")
    collect_stats(NOW_S)
    assert stored("minute") == [
        (1, "login", Sums(passed=9, fallback=9)),
        (0, "api", Sums(passed=1)),
        (0, "login", Sums(passed=7, refused=2, would_refuse=1)),
    ]


def test_minutes_are_added_to_their_hours_and_days():
    sent(0, {"login": Sums(passed=1)})
    sent(1, {"login": Sums(passed=2)})
    sent(61, {"login": Sums(passed=4)})
    collect_stats(NOW_S)
    assert stored("hour") == [(120, "login", Sums(passed=4)), (60, "login", Sums(passed=2)), (0, "login", Sums(passed=1))]
    assert stored("day") == [(480, "login", Sums(passed=7))]


def test_collecting_twice_changes_nothing():
    for ago in (0, 1, 30):
        sent(ago, {"login": Sums(passed=3, refused=2)})
    first = collect_stats(NOW_S)
    before = everything()
    assert first == "minutes read: 3, rows set: 6, old rows deleted: 0"
    assert collect_stats(NOW_S) == "minutes read: 3, rows set: 0, old rows deleted: 0"
    assert everything() == before


def test_reasons_and_latency_are_added_up_by_name():
    for ago in (0, 1):
        sent(ago, {"login": Sums(3, 2, reasons={"limit": 2, "store:timeout": 1}, latency={"0.128": 4})})
    collect_stats(NOW_S)
    sent(1, {"login": Sums(refused=1, reasons={"block": 1})}, "late")
    collect_stats(NOW_S)
    reasons = {"limit": 4, "store:timeout": 2, "block": 1}
    assert stored("day") == [(480, "login", Sums(6, 5, reasons=reasons, latency={"0.128": 8}))]


def test_a_collector_killed_before_it_writes_the_day_has_written_no_row(monkeypatch):
    def killed(resolution, parts):
        if resolution == Resolution.DAY:
            raise KeyboardInterrupt
        return add(resolution, parts)

    sent(0, {"login": Sums(passed=3)})
    add = collecting.add_sums
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(collecting, "add_sums", killed)
        collect_stats(NOW_S)
    assert not ThrottleStat.objects.exists()
    collect_stats(NOW_S)
    assert ThrottleStat.objects.count() == len(Resolution)


@pytest.mark.parametrize("step", ["store_who", "store_sums", "_prune"])
def test_a_collector_killed_between_two_steps_is_made_good_by_the_next_run(monkeypatch, step):
    for ago in (0, 1, 61):
        sent(ago, {"login": Sums(passed=3, refused=2)}, now_s=NOW_S - 7200)
    done, work = [], getattr(collecting, step)

    def killed(*arguments):
        if done:
            raise KeyboardInterrupt
        done.append(True)
        return work(*arguments)

    monkeypatch.setattr(collecting, "MINUTES_AT_ONCE", 1)
    monkeypatch.setattr(collecting, step, killed)
    with pytest.raises(KeyboardInterrupt):
        collect_stats(NOW_S)
        collect_stats(NOW_S)
    monkeypatch.setattr(collecting, step, work)
    collect_stats(NOW_S)
    assert stored("minute") == [(ago, "login", Sums(passed=3, refused=2)) for ago in (61, 1, 0)]
    assert stored("hour") == [(ago, "login", Sums(passed=3, refused=2)) for ago in (120, 60, 0)]
    assert stored("day") == [(480, "login", Sums(passed=9, refused=6))]


def test_a_smaller_sum_lowers_nothing(redis_client):
    sent(0, {"login": Sums(passed=9)})
    collect_stats(NOW_S)
    redis_client.flushdb()  # Redis has lost its data
    sent(0, {"login": Sums(passed=2, refused=1)})
    collect_stats(NOW_S)
    assert stored("minute") == stored("hour") == [(0, "login", Sums(passed=9, refused=1))]


def test_another_collector_that_has_seen_more_is_believed():
    key = (minute_start(NOW_MINUTE), "login")
    assert store_sums({key: Sums(passed=9)}) == 3
    assert store_sums({key: Sums(passed=5)}) == 0
    assert stored("minute") == stored("hour") == [(0, "login", Sums(passed=9))]


def test_a_quiet_minute_leaves_the_index_and_a_fresh_one_stays():
    sent(30, {"login": Sums(passed=1)}, now_s=NOW_S - 1800)
    sent(5, {"login": Sums(passed=1)}, now_s=NOW_S - 300)
    collect_stats(NOW_S)
    assert minutes.waiting(NOW_S) == [NOW_MINUTE - 5]


def test_late_sums_of_a_slow_process_are_still_taken():
    sent(30, {"login": Sums(passed=5)}, "fast", now_s=NOW_S - 1800)
    collect_stats(NOW_S)
    sent(30, {"login": Sums(passed=3)}, "slow", now_s=NOW_S)
    collect_stats(NOW_S)
    assert stored("minute") == stored("minute") == [(30, "login", Sums(passed=8))]
    assert stored("day") == [(480, "login", Sums(passed=8))]


def test_what_is_sent_while_the_collector_works_is_taken_by_the_next_run(monkeypatch):
    sent(30, {"login": Sums(passed=5)}, "p1", now_s=NOW_S - 1800)
    settle = minutes.settle

    def just_before(*arguments, **options):
        sent(30, {"login": Sums(passed=3)}, "p2")
        settle(*arguments, **options)

    monkeypatch.setattr(minutes, "settle", just_before)
    collect_stats(NOW_S)
    monkeypatch.setattr(minutes, "settle", settle)
    collect_stats(NOW_S)
    assert stored("minute") == [(30, "login", Sums(passed=8))]


def test_old_rows_are_deleted_as_retention_says(settings):
    ages = {"minute": timedelta(minutes=721), "hour": timedelta(hours=25), "day": timedelta(days=8)}
    for resolution, age in ages.items():
        for start in (minute_start(NOW_MINUTE) - age, minute_start(NOW_MINUTE) - age + timedelta(minutes=2)):
            ThrottleStat.objects.create(rule="login", resolution=resolution, start=start, passed=1)
    retention = {"minute": "12h", "hour": "1d1h", "day": "8d"}
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "RETENTION": retention}):
        # The second of each is two minutes younger: just within for minutes and days, and the hours' first is on the edge.
        assert collect_stats(NOW_S).endswith("old rows deleted: 1")
        assert collect_stats(NOW_S + 61).endswith("old rows deleted: 3")


def test_minutes_that_redis_may_still_have_are_kept_so_that_they_are_not_added_again(settings):
    retention = {"minute": "1m", "hour": "1d", "day": "8d"}
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "RETENTION": retention}):
        sent(30, {"login": Sums(passed=9)})
        collect_stats(NOW_S)
        sent(30, {"login": Sums(passed=1)}, "late")
        collect_stats(NOW_S)
    assert stored("minute") == [(30, "login", Sums(passed=10))]
    assert stored("day") == [(480, "login", Sums(passed=10))]


def test_a_minute_of_a_clock_gone_mad_is_passed_over():
    minutes.send({10**9: {"p|login": Sums(passed=1)}, NOW_MINUTE: {"p|login": Sums(passed=1)}}, NOW_S)
    collect_stats(NOW_S)
    assert stored("minute") == [(0, "login", Sums(passed=1))]


def test_in_memory_there_is_nothing_to_collect(settings):
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "REDIS": "memory://"}):
        assert collect_stats(NOW_S) == "nothing to collect: counts are in memory"
