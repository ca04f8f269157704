"""Which conditions of alerts hold, by given state."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import translation

from ratewindow.contrib.alerts.conditions import KINDS, SiteState, holding, unknown, watched
from ratewindow.contrib.alerts.models import AlertChannel
from ratewindow.counting.sums import Sums
from ratewindow.health import emergency
from ratewindow.report.spells import Spell

NOW = datetime(2027, 1, 15, 8, 30, tzinfo=UTC)
NOTHING_WATCHED = {"everybody": False, "unusual": False, "without_redis": False, "not_collected": False}
EMERGENCY = emergency.Emergency("login", "login refuses nearly everybody.")
SPELL = Spell("login", "refused", NOW, NOW, 1200, 3.0, ongoing=True, from_start=False)


def state(**known: Any) -> SiteState:
    """Without reading anything."""
    made = SiteState.__new__(SiteState)
    nothing = {"lately": {}, "spells": (), "waits_since": None, "unmatched": (), "tried": {}}
    vars(made).update({"now": NOW, "live": True, "minutes": 5, **nothing, **known})
    return made


def texts(known: SiteState, **watched: Any) -> list[str]:
    with translation.override("en"):
        return [each.text for each in holding(AlertChannel(**{**NOTHING_WATCHED, **watched}), known)]


@pytest.mark.parametrize(("refused", "holds"), [(499, False), (500, True)])
def test_refusals_a_minute_are_an_average_over_the_minutes(refused: int, holds: bool) -> None:
    said = ["login refuses 100 requests a minute."] if holds else []
    assert texts(state(lately={"login": Sums(refused=refused)}), refused_a_minute=100) == said


def test_each_rule_is_one_condition() -> None:
    many = Sums(refused=50)
    assert len(texts(state(lately={"login": many, "search": many, "api": Sums(refused=4)}), refused_a_minute=10)) == 2


@pytest.fixture
def everybody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(emergency, "now", lambda: [EMERGENCY])


@pytest.mark.usefixtures("everybody")
def test_a_rule_that_refuses_nearly_everybody_is_said_first() -> None:
    assert texts(state(), everybody=True) == ["login refuses nearly everybody."]
    assert texts(state(), everybody=False) == texts(state(live=False), everybody=True) == []
    known, channel = state(lately={"login": Sums(refused=500)}, spells=[SPELL]), AlertChannel(refused_a_minute=1)
    conditions = list(holding(channel, known))
    assert [each.kind for each in conditions] == ["everybody", "unusual", "refused_a_minute"]
    assert len({each.key for each in conditions}) == 1


def test_far_more_than_usual() -> None:
    said = ["login refuses far more requests than usual: 1,200 since 2027-01-15 08:30."]
    assert texts(state(spells=[SPELL]), unusual=True) == said


def test_decisions_without_redis_and_a_redis_that_does_not_answer() -> None:
    some = {"login": Sums(passed=3, fallback=2), "api": Sums(passed=1, fallback=1)}
    assert texts(state(lately=some), without_redis=True) == ["3 requests were lately decided without Redis."]
    silent = ["Redis does not answer, so requests are decided without it."]
    assert texts(state(live=False), without_redis=True) == silent
    assert texts(state(lately={"login": Sums(passed=3)}), without_redis=True) == []


@pytest.mark.parametrize(("minutes", "holds"), [(60, False), (61, True)])
def test_nobody_has_collected_for_an_hour(minutes: int, holds: bool) -> None:
    said = texts(state(waits_since=NOW - timedelta(minutes=minutes)), not_collected=True)
    assert [text.startswith("Nobody has collected counts since") for text in said] == [True] * holds


def test_an_enforced_rule_without_requests() -> None:
    assert texts(state(unmatched=["old"]), unmatched=True) == ["No request has matched old, which is enforced, for 30 days."]


@pytest.mark.parametrize(
    ("sums", "holds"),
    [
        (Sums(passed=1000, would_refuse=10), True),
        (Sums(passed=1000, would_refuse=11), False),
        (Sums(passed=1000, refused=1), False),
    ],
    ids=["one in a hundred", "more", "it was enforced"],
)
def test_a_rule_in_shadow_is_ready(sums: Sums, holds: bool) -> None:
    said = ["api is ready to be enforced: in 7 days it would have refused 10 of 1,000 requests."] if holds else []
    assert texts(state(tried={"api": sums}), ready=True) == said


@pytest.mark.usefixtures("everybody")
def test_a_channel_is_sent_what_it_watches_alone() -> None:
    everything = state(
        lately={"login": Sums(refused=1000, fallback=5)},
        spells=[SPELL],
        waits_since=NOW - timedelta(hours=2),
        unmatched=["old"],
        tried={"api": Sums(passed=10)},
    )
    assert texts(everything) == []
    assert len(texts(everything, **dict.fromkeys(KINDS, True))) == len(KINDS) == 7
    assert watched(AlertChannel(**NOTHING_WATCHED, ready=True)) == {"ready"}


def test_without_redis_nothing_is_said_of_what_it_counts() -> None:
    assert texts(state(live=False, lately={"login": Sums(refused=1000)}), refused_a_minute=1) == []
    assert "refused_a_minute" in unknown(state(live=False))
    assert not unknown(state())
