"""What happens and who does it, in sentences."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from ratewindow.counting.sums import Counted, Sums
from ratewindow.report.offenders import HowMany, Offenders
from ratewindow.report.reading import Behind, Reading
from ratewindow.report.report import Report, Waiting, last
from ratewindow.report.spells import Spell
from ratewindow.report.summary import summary

NOW = datetime(2027, 1, 15, 8, 30, 20, tzinfo=UTC)


NOBODY = HowMany(0)
EARLIER = Report(last("7d", NOW), Waiting({}, live=False))

pytestmark = pytest.mark.django_db


def reading(rules: dict[str, Sums], live: bool = True, **more: Any) -> Reading:
    period = last("1h", NOW)
    report = Report(period, Waiting({(period.start, rule): sums for rule, sums in rules.items()}, live))
    nobody = Offenders(Counted(), (), (), Counted(), NOBODY, NOBODY)
    return Reading(**{"now": NOW, "report": report, "usual": None, "spells": [], "behind": None, "offenders": nobody, **more})


def quiet(live: bool = True, is_usual: bool = False, **rules: Sums) -> str:
    return summary(reading(rules, live, usual=EARLIER if is_usual else None), str)


def said(outcome: str = "refused", ongoing: bool = False, usual: Report | None = None, **behind: Any) -> str:
    spell = Spell("login", outcome, NOW - timedelta(minutes=9), NOW, 90, 3, ongoing, from_start=False)
    values = {"value": "ip:203.0.113.0/24", "clients": HowMany(14), "count": 90, "total": 90, "exact": True}
    found = Behind(**{**values, "others_met": 9, **behind})
    return summary(reading({"login": Sums(passed=9, refused=90)}, spells=[spell], behind=found, usual=usual), str)


def test_what_happens_is_said_with_its_time_and_what_is_usual() -> None:
    assert re.match(r"login has refused 90 requests since .{16}\. 100 % came from", said(ongoing=True))
    assert re.match(r"login refused 90 requests from .{16} to .{16}\. Over now\. 100 %", said())
    assert "Usually it is 3 in that time." in said(usual=EARLIER)


@pytest.mark.parametrize(
    ("behind", "end"),
    [
        ({}, "100 % came from ip:203.0.113.0/24 (14 clients). Of the 9 other requests under login 0 % were refused."),
        ({"others_met": 0}, "100 % came from ip:203.0.113.0/24 (14 clients)."),
        (
            {"count": 89, "others_met": 10, "exact": False, "clients": HowMany(0)},
            "At least 99 % came from ip:203.0.113.0/24. Of the 10 other requests under login at most 10 % were refused.",
        ),
        ({"value": "login:ann", "clients": HowMany(0), "others_met": 0}, "100 % were for login:ann."),
        ({"value": "ip:10.0.0.9", "clients": HowMany(0), "others_met": 0}, "100 % came from ip:10.0.0.9."),  # of an intranet
        ({"value": ""}, "They came from 14 clients, none of which had a large part."),
    ],
)
def test_then_who_it_was_and_whether_others_suffer(behind: dict[str, Any], end: str) -> None:
    assert said(**behind).endswith(end)


def test_a_rule_in_shadow_would_have_refused_them() -> None:
    shadow = said("would_refuse")
    assert shadow.startswith("login, in shadow, would have refused 90 requests from ")
    assert "Of the 9 other requests under login 0 % would have been refused." in shadow


def test_a_calm_hour_is_called_quiet_once_there_is_something_to_compare_with() -> None:
    text = "All quiet. 41,230 passed, 9 refused in the last hour."
    assert quiet(is_usual=True, api=Sums(passed=41_230, refused=9)) == text
    assert quiet(api=Sums(passed=41_230, refused=9)) == "41,230 passed, 9 refused in the last hour."
    assert quiet(api=Sums(passed=41_230)) == "41,230 passed, 0 refused in the last hour."
    assert quiet() == "No request matched a rule."


def test_nothing_is_called_quiet_where_a_large_share_was_refused() -> None:
    assert quiet(is_usual=True, api=Sums(passed=11, refused=2)) == "11 passed, 2 refused in the last hour."


def test_nothing_is_called_quiet_while_the_last_minutes_are_not_known() -> None:
    assert quiet(live=False, is_usual=True, api=Sums(passed=41_230, refused=9)) == "41,230 passed, 9 refused in the last hour."
    assert quiet(live=False) == "No request is known to have matched a rule."


def test_what_a_rule_in_shadow_would_refuse_is_named_when_it_is_much() -> None:
    text = quiet(search=Sums(passed=100, would_refuse=40), api=Sums(passed=1000, refused=1))
    assert text == "1,100 passed, 1 refused in the last hour. Enforced, search would have refused 40 of 100 (40 %)."
