"""Which conditions of alerts hold, by given facts."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import translation

from ratewindow.models import AlertChannel
from ratewindow.operations.alerts.conditions import KINDS, holding, unknown, watched
from ratewindow.operations.alerts.facts import Facts, Tried
from ratewindow.reporting.sums import Sums
from ratewindow.reporting.unusual import Spell
from ratewindow.reporting.usual import Usual

NOW = datetime(2027, 1, 15, 8, 30, tzinfo=UTC)
NOTHING_WATCHED = {"unusual": False, "without_redis": False, "not_collected": False}
SPELL = Spell("login", "refused", NOW, NOW, 1200, 1300, Usual(3, by_days=True), ongoing=True, from_start=False)


def texts(facts: Facts, **watched: Any) -> list[str]:
    with translation.override("en"):
        return [each.text for each in holding(AlertChannel(**{**NOTHING_WATCHED, **watched}), facts, NOW)]


def lately(**sums: Sums) -> Facts:
    return Facts(live=True, minutes=5, lately=sums)


@pytest.mark.parametrize(("refused", "holds"), [(499, False), (500, True)])
def test_refusals_a_minute_are_an_average_over_the_minutes(refused: int, holds: bool) -> None:
    said = ["login refuses 100 requests a minute."] if holds else []
    assert texts(lately(login=Sums(refused=refused)), refused_a_minute=100) == said


@pytest.mark.parametrize(
    ("sums", "holds"),
    [(Sums(passed=80, refused=20), True), (Sums(passed=81, refused=19), False), (Sums(passed=0, refused=9), False)],
    ids=["at the threshold", "below it", "few"],
)
def test_a_share_of_requests(sums: Sums, holds: bool) -> None:
    said = ["login refuses 20 % of the requests that it meets."] if holds else []
    assert texts(lately(login=sums), refused_percent=20) == said


def test_each_rule_is_one_condition() -> None:
    many = Sums(refused=50)
    assert len(texts(lately(login=many, search=many, api=Sums(refused=4)), refused_a_minute=10)) == 2


def test_far_more_than_usual() -> None:
    facts = Facts(live=True, spells=[SPELL])
    assert texts(facts, unusual=True) == ["login refuses far more requests than usual: 1,200 since 2027-01-15 08:30."]


def test_decisions_without_redis_and_a_redis_that_does_not_answer() -> None:
    assert texts(lately(login=Sums(passed=3, fallback=2), api=Sums(passed=1, fallback=1)), without_redis=True) == [
        "3 requests were lately decided without Redis."
    ]
    assert texts(Facts(live=False), without_redis=True) == ["Redis does not answer, so requests are decided without it."]
    assert texts(lately(login=Sums(passed=3)), without_redis=True) == []


@pytest.mark.parametrize(("minutes", "holds"), [(60, False), (61, True)])
def test_nobody_has_collected_for_an_hour(minutes: int, holds: bool) -> None:
    facts = Facts(live=True, waits_since=NOW - timedelta(minutes=minutes))
    assert [text.startswith("Nobody has collected counts since") for text in texts(facts, not_collected=True)] == [True] * holds


def test_an_enforced_rule_that_was_never_met() -> None:
    facts = Facts(live=True, unmet={7: ["old"], 30: []})
    assert texts(facts, never_met_days=7) == ["No request has met old, which is enforced, for 7 days."]
    assert texts(facts, never_met_days=30) == []


@pytest.mark.parametrize(
    ("tried", "holds"),
    [
        (Tried(7, Sums(passed=1000, would_refuse=10)), True),
        (Tried(7, Sums(passed=1000, would_refuse=11)), False),
        (Tried(6, Sums(passed=1000)), False),
        (Tried(7, Sums(passed=1000, refused=1)), False),
    ],
    ids=["one in a hundred", "more", "not on each day", "it was enforced"],
)
def test_a_rule_in_shadow_is_ready(tried: Tried, holds: bool) -> None:
    said = ["api is ready to be enforced: in 7 days it would have refused 10 of 1,000 requests."] if holds else []
    assert texts(Facts(live=True, tried={7: {"api": tried}}), ready_days=7) == said


def test_a_channel_is_sent_what_it_watches_alone() -> None:
    facts = Facts(
        live=True,
        lately={"login": Sums(refused=1000, fallback=5)},
        spells=[SPELL],
        waits_since=NOW - timedelta(hours=2),
        unmet={7: ["old"]},
        tried={7: {"api": Tried(7, Sums(passed=10))}},
    )
    everything = {"refused_a_minute": 1, "refused_percent": 1, "never_met_days": 7, "ready_days": 7}
    assert texts(facts) == []
    assert len(texts(facts, **everything, **dict.fromkeys(NOTHING_WATCHED, True))) == len(KINDS)
    assert watched(AlertChannel(**NOTHING_WATCHED, refused_percent=5)) == {"refused_percent"}


def test_without_redis_nothing_is_said_of_what_it_counts() -> None:
    assert texts(Facts(live=False, lately={"login": Sums(refused=1000)}), refused_a_minute=1) == []
    assert "refused_a_minute" in unknown(Facts(live=False))
    assert not unknown(Facts(live=True))
