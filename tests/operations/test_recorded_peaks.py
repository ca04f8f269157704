"""The peaks of a recording are what the same requests' log would have given, by the same interface."""

from datetime import timedelta
from typing import Any

import pytest

from ratewindow.conf import time_zone
from ratewindow.limiter.keys import digest
from ratewindow.models import RecordedHour, Recording
from ratewindow.operations import recorded_peaks
from ratewindow.operations.backtest.peaks import ClientPeak
from ratewindow.operations.recorded_peaks import found
from ratewindow.reporting.recorded_hours import BAD, GOOD, SIGNED_IN, is_in

pytestmark = pytest.mark.django_db

ONE, TWO, THREE = (digest(f"client {number}", 9) for number in range(3))


@pytest.fixture
def recording() -> Recording:
    start = time_zone.now().replace(minute=0, second=0, microsecond=0) - timedelta(days=9)
    return Recording.objects.create(rule="login", window="w", rate="10/m", since=start, until=start + timedelta(days=8))


def hour(recording: Recording, number: int, clients: dict[str, Any], level: int = 0) -> None:
    start = recording.since + timedelta(hours=number)
    RecordedHour.objects.create(recording=recording, start=start, level=level, clients=clients)


def test_a_client_s_peak_is_that_of_its_highest_hour_and_of_both_halves(recording: Recording) -> None:
    hour(recording, 0, {ONE: [7, 0, 20, 0, GOOD], TWO: [10, 5, 30, 9, GOOD]})
    hour(recording, 95, {ONE: [4, 0, 5, 0, GOOD]})
    hour(recording, 96, {ONE: [9, 0, 9, 0, GOOD | BAD], THREE: [1, 0, 1, 0, SIGNED_IN | BAD]})
    here = found(recording)
    assert here.clients == [
        ClientPeak(f"#{ONE}", 9, 34, False, 7, 9),
        ClientPeak(f"#{TWO}", 15, 30, True, 15, 0),
        ClientPeak(f"#{THREE}", 1, 1, True, 0, 1),
    ]
    assert (here.requests, here.refused, here.refused_clients, here.refused_innocent) == (65, 9, 1, 1)
    assert (here.share, here.span) == (1, timedelta(days=8))


def test_while_it_goes_on_the_halves_are_those_of_the_time_so_far(recording: Recording) -> None:
    Recording.objects.update(since=time_zone.now() - timedelta(hours=10), until=time_zone.now() + timedelta(days=1))
    recording.refresh_from_db()
    hour(recording, 2, {ONE: [3, 0, 1, 0, GOOD]})
    hour(recording, 7, {ONE: [2, 0, 1, 0, GOOD]})
    here = found(recording)
    assert [(each.first_half, each.second_half) for each in here.clients] == [(3, 2)]
    assert timedelta(hours=10) <= here.span < timedelta(hours=11)


def test_hours_of_other_shares_are_read_at_the_smallest(recording: Recording) -> None:
    names = [digest(f"client {number}", 9) for number in range(400)]
    hour(recording, 0, {name: [1, 0, 1, 0, GOOD] for name in names})
    hour(recording, 1, {name: [1, 0, 1, 0, GOOD] for name in names if is_in(name, 2)}, level=2)
    here = found(recording)
    assert here.share == 4
    assert [each.client for each in here.clients] == [f"#{name}" for name in names if is_in(name, 2)]
    assert {each.requests for each in here.clients} == {2}


def test_of_too_many_clients_of_all_hours_a_smaller_share_is_read(recording: Recording, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorded_peaks, "MOST_CLIENTS", 100)
    names = [[digest(f"client {number} of {day}", 9) for number in range(90)] for day in range(5)]
    for day in range(5):
        hour(recording, day, {name: [1, 0, 1, 0, GOOD] for name in names[day]})
    here = found(recording)
    level = here.share.bit_length() - 1
    assert 50 <= len(here.clients) <= 100
    assert [each.client for each in here.clients] == [f"#{name}" for day in names for name in day if is_in(name, level)]


def test_clients_of_whom_nothing_was_counted_have_no_peak(recording: Recording) -> None:
    hour(recording, 0, {ONE: [0, 0, 3, 0, GOOD], "odd": "x"})
    assert (found(recording).clients, found(recording).requests) == ([], 3)


def test_without_hours_nothing_is_found(recording: Recording) -> None:
    assert (found(recording).clients, found(recording).share) == ([], 1)
