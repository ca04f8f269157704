"""Hours of a recording add up in any order, stay within their bound, and are read back only as they were written."""

import json
import random
from itertools import pairwise, permutations

import pytest

from ratewindow.limiter.keys import digest
from ratewindow.reporting import recorded_hours
from ratewindow.reporting.recorded_hours import BAD, GOOD, MOST_CLIENTS, NOTHING, Hour, Peak, erased, from_text, is_in, of_json

NAMES = [digest(f"client {number}", 9) for number in range(3 * MOST_CLIENTS)]
ONE = Hour(0, {NAMES[0]: Peak(3, 0, 5, 0, GOOD), NAMES[1]: Peak(1, 2, 3, 2, 0)})
TWO = Hour(0, {NAMES[1]: Peak(2, 1, 4, 1, BAD)})


def test_two_processes_have_seen_different_requests_of_the_same_clients():
    assert ONE.plus(TWO).clients == {NAMES[0]: Peak(3, 0, 5, 0, GOOD), NAMES[1]: Peak(2, 3, 7, 3, BAD)}


def test_of_two_reports_of_the_same_hour_the_larger_number_holds():
    later = Hour(0, {NAMES[1]: Peak(1, 4, 2, 4, GOOD)})
    assert later.at_least(ONE).clients[NAMES[1]] == Peak(1, 4, 3, 4, GOOD) == ONE.at_least(later).clients[NAMES[1]]


def test_a_sample_is_complete_in_what_it_has_whatever_the_order():
    """A process that keeps one of four and one that keeps all: together one of four, or fewer."""
    random.Random(5).shuffle(names := [*NAMES])
    parts = [Hour(level, {name: Peak(1, requests=1) for name in names if is_in(name, level)}).bounded() for level in (0, 2, 1)]
    sums = [first.plus(second).plus(third) for first, second, third in permutations(parts)]
    assert all(each == sums[0] for each in sums)
    assert sums[0].level == 2
    assert sums[0].clients == {name: Peak(1, requests=3) for name in NAMES if is_in(name, 2)}


def test_the_level_halves_the_clients_and_keeps_the_same_ones():
    shares = [{name for name in NAMES if is_in(name, level)} for level in range(6)]
    assert all(finer >= coarser for finer, coarser in pairwise(shares))
    assert [round(len(NAMES) / len(share)) for share in shares] == pytest.approx([1, 2, 4, 8, 16, 32], rel=0.2)


def test_an_hour_without_those_who_were_erased():
    assert ONE.without([erased(NAMES[0])]).clients == {NAMES[1]: ONE.clients[NAMES[1]]}


@pytest.mark.parametrize("hour", [NOTHING, ONE, Hour(7, TWO.clients)])
def test_an_hour_comes_back_from_its_text_and_from_its_row(hour):
    assert from_text(hour.to_text()) == hour
    assert of_json(hour.level, json.loads(json.dumps(hour.to_json()))) == hour


@pytest.mark.parametrize(
    "text",
    [
        *("", "[", "[0]", "{}", "[-1,{}]", "[99,{}]", '["0",{}]', "[0,[]]", '[0,{"x":[1,1,1,1,1]}]', "[" * 100_000),
        *(f'[0,{{"{NAMES[0]}":[{numbers}]}}]' for numbers in ("1,1,1,1", "1,1,1,1,8", "1,1,1,-1,0", "1,1,1,1e9,0")),
    ],
)
def test_what_another_program_has_written_is_no_hour(text):
    assert from_text(text) is None


def test_a_row_that_people_have_edited_keeps_what_is_right_in_it():
    odd = {NAMES[0]: [3, 0, 5, 0, 1], "?": [1, 1, 1, 1, 1], NAMES[1]: "x", NAMES[2]: [True, 1, 1, 1, 1]}
    assert of_json(0, odd) == Hour(0, {NAMES[0]: Peak(3, 0, 5, 0, 1)})
    assert of_json(None, odd) == of_json(0, "x") == recorded_hours.NOTHING
