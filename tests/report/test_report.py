"""The report adds up rows and open minutes, and counts no minute twice."""

from datetime import UTC, datetime, timedelta

import pytest
import redis
from django.test import override_settings
from django.utils import timezone

from ratewindow.counting import minutes
from ratewindow.counting.collecting import collect_stats, minute_start, span_start, store_sums
from ratewindow.counting.counters import counters
from ratewindow.counting.sums import Sums
from ratewindow.models import ThrottleStat
from ratewindow.report import summary as chart
from ratewindow.report.report import CHOICES, DAY, HOUR, MOST_STEPS, Report, between, last, waiting
from tests.support.made_counts import NOW_MINUTE, NOW_S, decision, sent

pytestmark = pytest.mark.django_db

NOW = datetime.fromtimestamp(NOW_S + 30, UTC)


def asked(choice="1h", rule=""):
    return Report(last(choice, NOW), waiting(NOW_S + 30), rule)


def row(ago, resolution="minute", rule="login", **counts):
    ThrottleStat.objects.create(rule=rule, resolution=resolution, start=minute_start(NOW_MINUTE - ago), **counts)


def test_open_minutes_are_reported_without_a_collector():
    sent(0, {"login": Sums(passed=3, refused=2)})
    sent(1, {"login": Sums(passed=1), "api": Sums(passed=5)})
    found = asked()
    assert found.rules == {"login": Sums(passed=4, refused=2), "api": Sums(passed=5)}
    assert found.total == Sums(passed=9, refused=2)
    assert found.steps[minute_start(NOW_MINUTE)] == Sums(passed=3, refused=2)
    assert found.known.live


@pytest.mark.parametrize("choice", CHOICES)
def test_no_minute_counts_twice_whether_it_is_collected_or_not(choice):
    for ago in range(14):
        sent(ago, {"login": Sums(passed=3, refused=2), "api": Sums(passed=1)})
    before = asked(choice)
    assert before.total == Sums(passed=14 * 4, refused=28)
    collect_stats(NOW_S)
    after = asked(choice)
    assert (after.rules, after.steps) == (before.rules, before.steps)


@pytest.mark.parametrize("choice", CHOICES)
def test_what_comes_after_collecting_is_added_to_what_was_collected(choice):
    for ago in range(14):
        sent(ago, {"login": Sums(passed=1)})
    collect_stats(NOW_S)
    sent(0, {"login": Sums(passed=10)})
    sent(0, {"login": Sums(passed=100)}, "p2")
    assert asked(choice).total == Sums(passed=13 + 10 + 100)


@pytest.mark.parametrize("choice", CHOICES)
def test_the_steps_add_up_to_the_table(choice):
    for ago in (0, 7, 59, 200):
        sent(ago, {"login": Sums(passed=ago + 1, refused=1), "api": Sums(passed=2)})
    store_sums({(minute_start(NOW_MINUTE - hours * 60 - 300), "login"): Sums(passed=7) for hours in range(1, 40)})
    found = asked(choice)
    steps = tuple(sum(column) for column in zip(*(sums.numbers for sums in found.steps.values()), strict=True))
    assert steps == found.total.numbers
    assert len(found.steps) <= MOST_STEPS + 2


@pytest.mark.parametrize("choice", CHOICES)
def test_reasons_and_latency_are_those_of_all_that_was_counted_whether_it_is_collected_or_not(choice):
    minute = Sums(passed=4, refused=3, fallback=1, reasons={"limit": 3, "store:timeout": 1}, latency={"0.128": 6, "65.5": 1})
    for ago in (0, 1, 5, 14):
        sent(ago, {"login": minute, "api": Sums(passed=1, latency={"0.128": 1})})
    before = asked(choice)
    assert before.tallies.reasons == {"limit": 12, "store:timeout": 4}
    assert before.tallies.latency == {"0.128": 28, "65.5": 4}
    collect_stats(NOW_S)
    sent(1, {"login": minute}, "late")
    after = asked(choice)
    assert after.tallies.reasons == {"limit": 15, "store:timeout": 5}
    assert after.total.refused == sum(count for name, count in after.tallies.reasons.items() if ":" not in name)


def test_a_day_of_minutes_is_read_in_hours_and_nothing_is_missed_at_its_ends(django_assert_max_num_queries):
    minutes_of_day = [*range(0, 24 * 60, 7), 24 * 60 - 1, 24 * 60 + 16]  # the last one before it
    for ago in minutes_of_day:
        row(ago, refused=1, reasons={"limit": 1}, latency={"0.128": 1})
    for start in {span_start(minute_start(NOW_MINUTE - ago), HOUR) for ago in minutes_of_day}:
        inside = [ago for ago in minutes_of_day if span_start(minute_start(NOW_MINUTE - ago), HOUR) == start]
        ThrottleStat.objects.create(
            rule="login", resolution="hour", start=start, refused=len(inside), reasons={"limit": len(inside)}, latency={}
        )
    with django_assert_max_num_queries(12):
        found = asked("24h")
    assert found.tallies.reasons == {"limit": found.total.refused} == {"limit": len(minutes_of_day) - 1}


@pytest.mark.parametrize("junk", [[], "x", {"limit": "5"}, {"limit": -1}, {"a b": 1}, {"limit": None}, 7])
def test_what_people_write_into_a_row_does_not_break_the_report(junk):
    row(5, refused=1, reasons=junk, latency=junk)
    assert (asked().total, asked().tallies) == (Sums(refused=1), Sums(reasons={}, latency={}))


def test_an_hour_with_open_minutes_is_its_collected_part_and_the_open_ones():
    row(60, "hour", passed=100)
    for ago in range(1, 31):
        row(ago, passed=3)  # their hour began an hour before now
    sent(1, {"login": Sums(passed=5)})  # two more than its row says
    sent(0, {"login": Sums(passed=1)})
    assert asked("7d").total == Sums(passed=100 + 2 + 1)


def test_a_report_of_one_rule_leaves_the_others_out():
    sent(0, {"login": Sums(passed=3), "api": Sums(passed=5)})
    row(5, passed=1)
    row(5, rule="api", passed=1)
    assert asked(rule="login").rules == {"login": Sums(passed=4)}


def test_what_lies_outside_the_period_does_not_count():
    sent(0, {"login": Sums(passed=1)})
    sent(20, {"login": Sums(passed=1)})
    row(30, passed=1)
    assert asked("15m").total == Sums(passed=1)


def test_without_redis_the_rows_alone_are_reported_and_it_says_so(monkeypatch):
    def away(*_):
        raise redis.ConnectionError

    row(5, passed=7)
    sent(0, {"login": Sums(passed=3)})
    monkeypatch.setattr(minutes, "waiting", away)
    found = asked()
    assert (found.total, found.known.live) == (Sums(passed=7), False)


@pytest.mark.parametrize("answer", [b"text", 5, None, [1, None], {b"a": b"b"}])
def test_an_answer_that_is_no_list_of_minutes_or_no_counts_is_as_none(answer, monkeypatch):
    sent(1, {"login": Sums(3)})
    monkeypatch.setattr(redis.Redis, "zrange", lambda *_: answer)
    assert not Report(last("1h", NOW), waiting(NOW_S)).known.live
    monkeypatch.undo()
    if not isinstance(answer, dict):
        monkeypatch.setattr(redis.client.Pipeline, "execute", lambda *_: [answer])
        assert not Report(last("1h", NOW), waiting(NOW_S)).known.live


def test_in_memory_the_report_shows_what_this_process_counted(settings):
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "REDIS": "memory://"}):
        counters.record([decision("login"), decision("api", "refused")])
        found = Report(last("15m", timezone.now()), waiting())
    assert found.rules == {"login": Sums(passed=1), "api": Sums(refused=1)}


def test_a_report_asks_the_same_few_questions_however_much_there_is(django_assert_num_queries):
    for ago in range(60):
        sent(ago, {f"rule-{number}": Sums(passed=1) for number in range(20)}, now_s=NOW_S - 3600 * (ago % 2))
    collect_stats(NOW_S)  # after which half of them no longer wait in Redis
    found = asked()
    with django_assert_num_queries(3):  # those of ALL, too
        assert sum(sums.passed for sums in found.steps.values()) == 1200
    with django_assert_num_queries(0):
        assert found.total == Sums(passed=1200)
    with django_assert_num_queries(2):
        assert found.rules["rule-7"] == Sums(passed=60)


def test_what_is_collected_while_a_report_is_read_is_not_counted_twice():
    sent(1, {"login": Sums(passed=5)})
    found = asked()
    assert found.known.sums
    collect_stats(NOW_S)
    sent(1, {"login": Sums(passed=9)})
    collect_stats(NOW_S)
    assert found.total == Sums(passed=9)


def test_steps_follow_the_wall_clock_of_the_current_time_zone():
    with timezone.override("Asia/Kolkata"):
        period = last("30d", NOW)
        starts = [timezone.localtime(start) for start in period.steps()]
        assert {(start.hour, start.minute) for start in starts} == {(0, 0)}
        assert len({start.date() for start in starts}) == len(starts) == 31


def test_the_day_on_which_clocks_go_back_has_all_its_hours():
    with timezone.override("Europe/Berlin"):
        end = datetime(2026, 10, 25, 22, 59, tzinfo=UTC)
        period = between(end - timedelta(hours=47), end, end)
        assert period.step == timedelta(hours=1)
        labels = [chart.long_label(period, start) for start in period.steps()]
        assert labels.count("Sun 25 Oct, 02:00") == 2
        assert len(period.steps()) == 48


@pytest.mark.parametrize(
    ("days", "step", "resolution"),
    [
        (0.02, 60, "minute"),
        (1, 900, "minute"),
        (3, 3600, "hour"),
        (20, 21600, "hour"),
        (59, 86400, "hour"),
        (600, 7 * 86400, "day"),
    ],
)
def test_a_longer_period_is_shown_in_larger_steps(days, step, resolution):
    period = between(NOW - timedelta(days=days), NOW, NOW)
    assert (period.step.total_seconds(), period.resolution) == (step, resolution)
    assert 1 < len(period.steps()) <= MOST_STEPS + 2


def test_a_period_of_which_no_minutes_are_left_is_shown_by_the_hour():
    start = NOW - timedelta(days=5)
    period = between(start, start + timedelta(hours=1), NOW)
    assert (period.resolution, period.step) == ("hour", timedelta(hours=1))


def test_ticks_of_the_chart_stand_at_even_times():
    data = chart.chart_data(asked("1h"))
    assert [data["short"][i] for i in range(61) if data["wall"][i] % 15 == 0] == ["07:00", "07:15", "07:30", "07:45", "08:00"]
    week = chart.chart_data(asked("7d"))
    assert {week["short"][i] for i, wall in enumerate(week["wall"]) if wall % 12 == 0} >= {"15 Jan", "14 Jan"}


def test_days_are_read_instead_of_hours_where_steps_do_not_matter_and_nothing_is_missed_at_their_ends():
    hours = [*range(0, 30 * 24, 5), 30 * 24 + 30]  # the last one before it
    starts = [span_start(minute_start(NOW_MINUTE - 60 * ago), HOUR) for ago in hours]
    for start in starts:
        ThrottleStat.objects.create(
            rule="login", resolution="hour", start=start, refused=1, reasons={"limit": 1}, latency={"0.128": 1}
        )
    for day in {span_start(start, DAY) for start in starts}:
        inside = sum(1 for start in starts if span_start(start, DAY) == day)
        ThrottleStat.objects.create(rule="login", resolution="day", start=day, refused=inside, reasons={"limit": inside})
    found = asked("30d")
    assert found.tallies.reasons == {"limit": found.total.refused} == {"limit": len(hours) - 1}
    assert sum(sums.refused for sums in found.steps.values()) == len(hours) - 1
    assert found.tallies.latency["0.128"] < 24  # those of the hours at both ends
