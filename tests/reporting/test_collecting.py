"""Collecting sets, so that running it twice, late, or only half changes nothing."""

from datetime import timedelta

import pytest
from django.test import override_settings

from ratewindow.models import ThrottleStat, TotalStat
from ratewindow.reporting import collecting, minutes
from ratewindow.reporting.collecting import Collected, collect_stats
from ratewindow.reporting.stored import Resolution, minute_start, set_rows, span_start, sums_of
from ratewindow.reporting.sums import Sums
from ratewindow.store import state_keys
from tests.support.made_counts import NOW_MINUTE, NOW_S, sent

pytestmark = pytest.mark.django_db


def stored(resolution):
    rows = ThrottleStat.objects.filter(resolution=resolution).order_by("start", "rule")
    return [(round((minute_start(NOW_MINUTE) - row.start) / timedelta(minutes=1)), row.rule, sums_of(row)) for row in rows]


def everything():
    return [stored(resolution) for resolution in Resolution]


def totals():
    """The rows of all rules together, by resolution and start."""
    return {(row.resolution, row.start): sums_of(row) for row in TotalStat.objects.all()}


def added_up():
    """The rows of the rules, added up as those of all rules together should be."""
    found = {}
    for row in ThrottleStat.objects.all():
        found[row.resolution, row.start] = found.get((row.resolution, row.start), Sums()).plus(sums_of(row))
    return found


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


def test_minutes_are_folded_into_hours_and_hours_into_days():
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
    assert first.rows_set == 3 + 2 + 1
    together = list(TotalStat.objects.values())
    assert collect_stats(NOW_S) == Collected(minutes_read=3)
    assert everything() == before
    assert list(TotalStat.objects.values()) == together


def test_the_rows_of_all_rules_add_up_theirs_whenever_these_come():
    reasons, latency = {"limit": 2, "store:timeout": 1}, {"0.128": 4}
    for ago in (0, 1, 61):
        sent(ago, {"login": Sums(3, 2, reasons=reasons, latency=latency), "api": Sums(passed=1, latency=latency)})
    collect_stats(NOW_S)
    sent(1, {"login": Sums(refused=1, reasons={"block": 1}), "search": Sums(passed=5)}, "late")
    collect_stats(NOW_S)
    assert totals() == added_up()
    assert [totals()["day", row.start].reasons for row in TotalStat.objects.filter(resolution="day")] == [
        {"limit": 6, "store:timeout": 3, "block": 1}
    ]


def test_rows_of_a_collector_that_knew_no_totals_are_in_the_next_ones():
    start = minute_start(NOW_MINUTE)
    ThrottleStat.objects.create(rule="api", resolution="minute", start=start, passed=7, reasons={"store:timeout": 1})
    assert set_rows(Resolution.MINUTE, {(start, "login"): Sums(passed=9)}) == 1
    assert totals() == {("minute", start): Sums(passed=16, reasons={"store:timeout": 1})}
    ThrottleStat.objects.filter(rule="api").update(passed=8)
    assert set_rows(Resolution.MINUTE, {(start, "login"): Sums(passed=9)}) == 0
    assert totals() == added_up()


def test_a_collector_killed_before_it_writes_the_total_has_written_no_row(monkeypatch):
    def killed(*_):
        raise KeyboardInterrupt

    sent(0, {"login": Sums(passed=3)})
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(type(TotalStat.objects), "bulk_update", killed)
        collect_stats(NOW_S)
    assert not ThrottleStat.objects.exists() and not TotalStat.objects.exists()
    collect_stats(NOW_S)
    assert totals() == added_up() and len(totals()) == len(Resolution)


@pytest.mark.parametrize("step", ["_store", "_fold", "_prune"])
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
    assert totals() == added_up()


def test_a_smaller_sum_lowers_nothing(redis_client):
    sent(0, {"login": Sums(passed=9)})
    collect_stats(NOW_S)
    redis_client.flushdb()  # Redis has lost its data
    sent(0, {"login": Sums(passed=2, refused=1)})
    collect_stats(NOW_S)
    assert stored("minute") == stored("hour") == [(0, "login", Sums(passed=9, refused=1))]


def test_another_collector_that_has_seen_more_is_believed():
    start = span_start(minute_start(NOW_MINUTE), Resolution.MINUTE)
    assert set_rows(Resolution.MINUTE, {(start, "login"): Sums(passed=9)}) == 1
    assert set_rows(Resolution.MINUTE, {(start, "login"): Sums(passed=5)}) == 0
    assert stored("minute") == [(0, "login", Sums(passed=9))]


def test_a_quiet_minute_leaves_the_index_and_a_fresh_one_stays():
    sent(30, {"login": Sums(passed=1)}, now_s=NOW_S - 1800)
    sent(5, {"login": Sums(passed=1)}, now_s=NOW_S - 300)
    collect_stats(NOW_S)
    assert minutes.waiting(NOW_S) == [NOW_MINUTE - 5]


def test_a_collected_minute_is_kept_for_late_processes_but_not_as_long(redis_client):
    sent(30, {"login": Sums(passed=1)}, now_s=NOW_S - 1800)
    collect_stats(NOW_S)
    assert 0 < redis_client.ttl(state_keys.minute(NOW_MINUTE - 30)) <= minutes.COLLECTED_S


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
    ages = {"minute": timedelta(minutes=61), "hour": timedelta(hours=25), "day": timedelta(days=8)}
    for resolution, age in ages.items():
        for start in (minute_start(NOW_MINUTE) - age, minute_start(NOW_MINUTE) - age + timedelta(minutes=2)):
            ThrottleStat.objects.create(rule="login", resolution=resolution, start=start, passed=1)
            TotalStat.objects.create(resolution=resolution, start=start, passed=1)
    retention = {"minute": "1h", "hour": "1d1h", "day": "8d"}
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "RETENTION": retention}):
        # The second of each is two minutes younger: just within for minutes and days, and the hours' first is on the edge.
        assert collect_stats(NOW_S).rows_pruned == 2
        assert collect_stats(NOW_S + 61).rows_pruned == 6
    assert totals() == added_up()


def test_pruned_minutes_do_not_lower_the_hour_they_were_folded_into(settings):
    sent(0, {"login": Sums(passed=9)})
    sent(1, {"login": Sums(passed=9)})
    collect_stats(NOW_S)
    ThrottleStat.objects.filter(resolution="minute").delete()
    collect_stats(NOW_S)
    assert stored("day") == [(480, "login", Sums(passed=18))]


def test_a_minute_of_a_clock_gone_mad_is_passed_over():
    minutes.send({10**9: {"p|login": Sums(passed=1)}, NOW_MINUTE: {"p|login": Sums(passed=1)}}, NOW_S)
    collect_stats(NOW_S)
    assert stored("minute") == [(0, "login", Sums(passed=1))]


def test_in_memory_there_is_nothing_to_collect(settings):
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "REDIS": "memory://"}):
        assert collect_stats(NOW_S) == Collected()


def test_what_it_did_is_told_in_grammar() -> None:
    assert str(Collected(1, 1, 1)) == "1 minute read, 1 row set, 1 old row deleted"
    assert str(Collected(2, 0, 3)) == "2 minutes read, 0 rows set, 3 old rows deleted"
