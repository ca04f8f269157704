"""The rows of a recording are set, so that collecting twice, late, at once, or only half ends with the same ones."""

from datetime import UTC, datetime, timedelta

import pytest
from django.conf import settings
from django.test import override_settings

from ratewindow.models import RecordedHour, Recording
from ratewindow.reporting import hours, recorded_rows
from ratewindow.reporting.collecting import collect_stats
from ratewindow.reporting.peak_counts import HOUR_S, Unsent
from ratewindow.reporting.recorded_hours import GOOD, Hour, Peak, erased
from ratewindow.store import state_keys
from tests.support.made_peaks import NOW_S

pytestmark = pytest.mark.django_db

HOUR = int(NOW_S) // HOUR_S
NOW = datetime.fromtimestamp(NOW_S, UTC)
ONE, TWO = "aaaaaaaaaaaa", "bbbbbbbbbbbb"


@pytest.fixture
def recording():
    return Recording.objects.create(rule="login", window="w", rate="10/m", since=NOW, until=NOW + timedelta(days=7))


def sent(recording, clients, process="p1", ago=0):
    hours.send([Unsent(HOUR - ago, f"{process}|{recording.pk}", Hour(0, clients), 1)])


def stored():
    return [(HOUR - int(row.start.timestamp()) // HOUR_S, row.level, row.clients) for row in RecordedHour.objects.all()]


def test_what_all_processes_have_sent_becomes_one_row_for_each_hour(recording):
    sent(recording, {ONE: Peak(3, 1, 5, 1, GOOD)}, "p1")
    sent(recording, {ONE: Peak(2, 1, 4, 1, GOOD), TWO: Peak(1, 0, 1)}, "p2")
    sent(recording, {TWO: Peak(9, 0, 9)}, "p1", ago=1)
    assert collect_stats(NOW_S).rows_set == 2
    assert stored() == [(1, 0, {TWO: [9, 0, 9, 0, 0]}), (0, 0, {ONE: [3, 2, 9, 2, 1], TWO: [1, 0, 1, 0, 0]})]


def test_collecting_twice_changes_nothing_and_what_comes_late_joins(recording):
    sent(recording, {ONE: Peak(3, 1, 5, 1)}, "p1")
    collect_stats(NOW_S)
    assert collect_stats(NOW_S).rows_set == 0
    sent(recording, {ONE: Peak(4, 0, 6)}, "p2")
    collect_stats(NOW_S + 2 * HOUR_S)
    assert stored() == [(0, 0, {ONE: [4, 1, 11, 1, 0]})]


def test_a_smaller_report_lowers_nothing(recording, redis_client):
    """Redis has lost its data, or another collector has seen more."""
    sent(recording, {ONE: Peak(3, 1, 5, 1)})
    collect_stats(NOW_S)
    redis_client.flushdb()
    sent(recording, {ONE: Peak(1, 0, 1), TWO: Peak(1, 0, 1)})
    collect_stats(NOW_S)
    assert stored() == [(0, 0, {ONE: [3, 1, 5, 1, 0], TWO: [1, 0, 1, 0, 0]})]


def test_a_collector_killed_between_two_hours_is_made_good_by_the_next_run(recording, monkeypatch):
    for ago in (0, 1):
        sent(recording, {ONE: Peak(3, 1, 5, 1)}, ago=ago)
    done, work = [], recorded_rows._set

    def killed(*arguments):
        if done:
            raise KeyboardInterrupt
        done.append(True)
        return work(*arguments)

    monkeypatch.setattr(recorded_rows, "_set", killed)
    with pytest.raises(KeyboardInterrupt):
        collect_stats(NOW_S)
    monkeypatch.setattr(recorded_rows, "_set", work)
    collect_stats(NOW_S)
    assert stored() == [(ago, 0, {ONE: [3, 1, 5, 1, 0]}) for ago in (1, 0)]


def test_a_collector_that_has_read_before_the_other_wrote_ends_with_the_same_rows(recording, monkeypatch):
    """Both read the fields of one process; one of them is overtaken by the fields of two."""
    sent(recording, {ONE: Peak(3, 1, 5, 1)}, "p1")
    read = hours.read

    def overtaken(numbers):
        found = read(numbers)
        monkeypatch.setattr(hours, "read", read)
        sent(recording, {ONE: Peak(4, 1, 5, 1)}, "p2")
        collect_stats(NOW_S)
        return found

    monkeypatch.setattr(hours, "read", overtaken)
    collect_stats(NOW_S)
    assert stored() == [(0, 0, {ONE: [4, 2, 10, 2, 0]})]


@pytest.mark.django_db(transaction=True)
def test_a_recording_that_is_deleted_while_it_is_collected_keeps_no_other_from_it(recording, monkeypatch):
    other = Recording.objects.create(rule="api", window="w", rate="10/m", since=NOW, until=NOW + timedelta(days=7))
    sent(recording, {ONE: Peak(3, 1, 5, 1)})
    sent(other, {ONE: Peak(2, 0, 2)})
    read = hours.read

    def read_and_deleted(numbers):
        found = read(numbers)
        Recording.objects.filter(pk=recording.pk).delete()
        return found

    monkeypatch.setattr(hours, "read", read_and_deleted)
    recorded_rows.collect(NOW_S)
    assert [(row.recording_id, row.clients) for row in RecordedHour.objects.all()] == [(other.pk, {ONE: [2, 0, 2, 0, 0]})]


def test_clients_that_were_erased_do_not_come_back(recording):
    recording.left_out = [erased(ONE)]
    recording.save()
    sent(recording, {ONE: Peak(3, 1, 5, 1), TWO: Peak(1, 0, 1)})
    collect_stats(NOW_S)
    assert stored() == [(0, 0, {TWO: [1, 0, 1, 0, 0]})]


def test_odd_fields_and_those_of_recordings_that_nobody_knows_are_left_out(recording, redis_client):
    sent(Recording(pk=recording.pk + 1), {ONE: Peak(3, 1, 5, 1)})
    for field, text in ((f"p|{recording.pk}", "odd"), ("p|x", "[0,{}]"), (b"\xff", b"\xff")):
        redis_client.hset(state_keys.hour_peaks(HOUR), field, text)
    assert collect_stats(NOW_S).odd == 3
    assert stored() == []


def test_without_a_recording_redis_is_not_asked(monkeypatch):
    monkeypatch.setattr(hours, "fields", None)
    collect_stats(NOW_S)


def test_what_was_sent_expires(recording, redis_client):
    sent(recording, {ONE: Peak(3, 1, 5, 1)})
    assert 0 < redis_client.ttl(state_keys.hour_peaks(HOUR)) <= hours.EXPIRES_S


def test_retention_ends_recordings(recording):
    sent(recording, {ONE: Peak(3, 1, 5, 1)})
    collect_stats(NOW_S)
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "RETENTION": {"hour": "30d"}}):
        collect_stats(NOW_S + 31 * 86_400)
        assert stored() == []
        assert Recording.objects.exists()
        collect_stats(NOW_S + 38 * 86_400)
    assert not Recording.objects.exists()
