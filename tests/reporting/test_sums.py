"""Sums as text between processes, also those of another version."""

import pytest

from ratewindow.reporting.latency import BOUNDS, tally_of
from ratewindow.reporting.sums import NOTHING, Sums, from_text

FULL = Sums(4, 2, 0, 0, 1, {"limit": 2, "store:timeout": 1}, {"0.128": 6})


@pytest.mark.parametrize("sums", [NOTHING, Sums(1, 2, 3, 4, 5), FULL, FULL._replace(reasons={}), FULL._replace(latency={})])
def test_text_comes_back_as_it_was(sums):
    assert from_text(sums.to_text()) == sums


def test_sums_without_reasons_are_five_numbers():
    assert Sums(1, 2, 3, 4, 5).to_text() == "1,2,3,4,5"


@pytest.mark.parametrize(
    "text", ["", "1,2,3,4", "1,2,3,4,5,6", "a,2,3,4,5", "1,2,3,4,5;x", "1,2,3,4,5;x=-1", "1,2,3,4,5;;;x=1",
             "1,2,3,4,5;a b=1", f"1,2,3,4,{'9' * 30}", "1,2,3,4,5;" + ",".join(f"r{n}=1" for n in range(101))]
)  # fmt: skip
def test_anything_else_is_none(text):
    assert from_text(text) is None


def test_two_reports_of_the_same_are_the_larger_number_each():
    other = Sums(3, 3, 0, 0, 0, {"limit": 3, "cost": 1}, {"0.128": 5, "1.02": 1})
    assert FULL.at_least(other) == Sums(4, 3, 0, 0, 1, {"limit": 3, "store:timeout": 1, "cost": 1}, {"0.128": 6, "1.02": 1})
    assert FULL.plus(other).reasons == {"limit": 5, "store:timeout": 1, "cost": 1}


def test_a_decision_that_took_seconds_is_sent_and_read_like_any_other():
    slow = Sums(passed=len(BOUNDS), latency=tally_of([1] * len(BOUNDS)))
    assert from_text(slow.to_text()) == slow
