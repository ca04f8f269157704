"""The totals of a report, with what each is a part of."""

from datetime import UTC, datetime

from ratewindow import conf
from ratewindow.reporting.figures import figures
from ratewindow.reporting.periods import last
from ratewindow.reporting.report import Report
from ratewindow.reporting.sums import Sums
from ratewindow.reporting.usual import Earlier
from tests.support.made_counts import NOW_S

PERIOD = last("1h", datetime.fromtimestamp(NOW_S, UTC), conf.current().retention)


def notes(sums: Sums) -> dict[str, str]:
    return {each.name: each.note for each in figures(Report(PERIOD, {}, {"login": sums}, live=True), Earlier())}


def test_only_requests_that_passed_are_said_to_be_near_a_limit() -> None:
    found = notes(Sums(passed=5, refused=5, other=5, near=2))
    assert found["passed"] == "33 % of 15; 2 near a limit"
    assert found["refused"] == found["other"] == "33 % of 15"
