"""The totals of a report, with what each is a part of."""

from datetime import UTC, datetime

import pytest

from ratewindow.counting.sums import Sums
from ratewindow.report.report import Report, Waiting, last
from ratewindow.report.summary import figures
from tests.support.made_counts import NOW_S

PERIOD = last("1h", datetime.fromtimestamp(NOW_S, UTC))


def notes(sums: Sums) -> dict[str, str]:
    return {each["name"]: each["note"] for each in figures(Report(PERIOD, Waiting({(PERIOD.start, "login"): sums}, live=True)))}


@pytest.mark.django_db
def test_each_is_said_to_be_a_part_of_all_requests() -> None:
    found = notes(Sums(passed=5, refused=5, other=5))
    assert found["passed"] == found["refused"] == found["other"] == "33 % of 15"
