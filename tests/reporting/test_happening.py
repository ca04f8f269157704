"""What happens and who does it, in sentences of one tense."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from ratewindow import conf
from ratewindow.reporting.culprit import Behind
from ratewindow.reporting.happening import happening
from ratewindow.reporting.offenders import HowMany
from ratewindow.reporting.periods import last
from ratewindow.reporting.report import Report
from ratewindow.reporting.sums import Sums
from ratewindow.reporting.unusual import Spell
from ratewindow.reporting.usual import Earlier, Usual

NOW = datetime(2027, 1, 15, 8, 30, 20, tzinfo=UTC)


def said(outcome: str = "refused", ongoing: bool = False, **behind: Any) -> str:
    report = Report(last("1h", NOW, conf.current().retention), {}, {"login": Sums(passed=9, refused=90)}, live=True)
    spell = Spell("login", outcome, NOW - timedelta(minutes=9), NOW, 90, 99, Usual(), ongoing, from_start=False)
    values = {"value": "ip:203.0.113.0/24", "is_network": True, "clients": HowMany(14), "count": 90, "total": 90, "exact": True}
    found = Behind(**{**values, "others_count": 0, "others_met": 9, **behind})
    return happening(report, [spell], found, Earlier(), str).text


def test_a_spell_that_goes_on_is_said_in_the_present_and_one_that_has_ended_in_the_past() -> None:
    assert said(ongoing=True).endswith("100 % come from ip:203.0.113.0/24 (14 clients). Nobody else is refused by it.")
    assert said().endswith("100 % came from ip:203.0.113.0/24 (14 clients). Nobody else was refused by it.")


@pytest.mark.parametrize(
    ("behind", "end"),
    [
        ({"others_met": 0}, "No other requests met this rule."),
        ({"others_count": 1, "others_met": 10}, "Of all other requests to it 10 % were refused."),
        (
            {"others_count": 1, "others_met": 10, "exact": False, "is_network": False},
            "At least 100 % came from ip:203.0.113.0/24. Of all other requests to it at most 10 % were refused.",
        ),
        ({"value": ""}, "They came from 14 clients, none of which had a large part."),
    ],
)
def test_so_is_each_sentence_about_who_it_was(behind: dict[str, Any], end: str) -> None:
    assert said(**behind).endswith(end)


def test_so_is_what_a_rule_in_shadow_would_have_done() -> None:
    shadow = said("would_refuse")
    assert "Nobody else would have been refused by it." in shadow
    assert "would have been refused" not in said("would_refuse", ongoing=True)
