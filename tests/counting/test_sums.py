"""Sums as text between processes, also those of another version."""

import pytest

from ratewindow.counting.sums import BOUNDS, NOTHING, NUMBERS, Sums, of_columns, sums_from_text

FULL = Sums(4, 2, 0, 0, 1, 3, {"limit": 2, "store:timeout": 1}, {"0.128": 6}, {"5/m:60": 1})


@pytest.mark.parametrize("sums", [NOTHING, Sums(1, 2, 3, 4, 5, 6), FULL, FULL._replace(reasons={}), FULL._replace(latency={})])
def test_text_comes_back_as_it_was(sums):
    assert sums_from_text(sums.to_text()) == sums


def test_the_text_is_short_json():
    assert FULL.to_text() == '[[4,2,0,0,1,3],{"limit":2,"store:timeout":1},{"0.128":6},{"5/m:60":1}]'


@pytest.mark.parametrize(
    "text",
    [
        *("", "1,2,3,4,5", "null", "5", "[]", "{}", '"abc"', "[" * 100_000, "[[1,2,3,4,5,6],{}]", "[[1,2,3,4,5,6],{},{},{},{}]"),
        *("[5,{},{}]", "[[1,2,3,4,5],{},{}]", "[[1,2,3,4,5,6,7],{},{}]", '[["a",2,3,4,5,6],{},{}]', "[[true,2,3,4,5,6],{},{}]"),
        *(
            "[[-1,2,3,4,5,6],{},{}]",
            "[[1.0,2,3,4,5,6],{},{}]",
            "[[1e400,2,3,4,5,6],{},{}]",
            f"[[1,2,3,4,5,{'9' * 30}],{{}},{{}}]",
        ),
    ],
    ids=lambda text: f"{text:.40}",
)
def test_any_other_text_is_none(text):
    assert sums_from_text(text) is None


@pytest.mark.parametrize("tally", ["[]", '{"x":-1}', '{"a b":1}', '{"x":"1"}', '{"x":1.5}'])
def test_in_a_text_what_is_no_tally_is_empty(tally):
    assert sums_from_text(f"[[1,2,3,4,5,6],{tally},{{}}]") == Sums(1, 2, 3, 4, 5, 6)


def test_of_a_row_what_is_no_tally_is_empty():
    numbers = dict(zip(NUMBERS, range(1, 7), strict=True))
    columns = {**numbers, "reasons": [], "latency": {"x": -1, "a b": 1, "y": "1", "w": True, "z": 10**13}, "used": 5}
    assert of_columns(columns) == Sums(1, 2, 3, 4, 5, 6, latency={"z": 10**13})


def test_of_two_reports_of_the_same_one_with_what_the_other_has_beyond_it_is_the_larger_number_each():
    other = Sums(3, 3, 0, 0, 0, 4, {"limit": 3, "cost": 1}, {"0.128": 5, "1.02": 1}, {"5/m:80": 2})
    larger = Sums(
        4, 3, 0, 0, 1, 4, {"limit": 3, "store:timeout": 1, "cost": 1}, {"0.128": 6, "1.02": 1}, {"5/m:60": 1, "5/m:80": 2}
    )
    assert FULL.plus(other.beyond(FULL)) == other.plus(FULL.beyond(other)) == larger
    assert not FULL.beyond(FULL) and FULL.beyond(NOTHING) == FULL
    assert FULL.plus(other).reasons == {"limit": 5, "store:timeout": 1, "cost": 1}


def test_what_a_process_of_an_older_version_sends_lacks_how_much_was_used():
    assert sums_from_text('[[4,2,0,0,1,3],{"limit":2,"store:timeout":1},{"0.128":6}]') == FULL._replace(used={})


def test_a_decision_that_took_seconds_is_sent_and_read_like_any_other():
    slow = Sums(passed=len(BOUNDS), latency=dict.fromkeys(BOUNDS, 1))
    assert sums_from_text(slow.to_text()) == slow
