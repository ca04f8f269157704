"""When the requests of a log are due."""

import pytest

from ratewindow.management.replay.pace import due_times
from ratewindow.operations.logs.entry import Entry


def due(seconds, speed, whole_seconds=True):
    return [at for at, _ in due_times([Entry(second, "c", "GET", "/") for second in seconds], speed, whole_seconds)]


def test_the_first_is_due_at_once_and_the_others_at_their_distance():
    assert due([100, 103, 110], 1) == [0, 3, 10]


def test_speed_shortens_every_distance():
    assert due([100, 220], 120) == [0, 1]
    assert due([100, 220], float("inf")) == [0, 0]


def test_the_requests_of_one_second_are_spread_over_it():
    assert due([7, 7, 7, 7, 8], 1) == [0, 0.25, 0.5, 0.75, 1]


def test_the_requests_of_one_moment_are_due_together_where_the_log_has_fractions_of_seconds():
    assert due([7.5, 7.5, 8], 1, whole_seconds=False) == [0, 0, 0.5]


def test_a_line_older_than_the_one_before_keeps_its_place():
    assert due([10, 9, 11], 1) == pytest.approx([0, 0.5, 1])


def test_an_empty_log_has_nothing_due():
    assert due([], 1) == []
