"""An alert is new once and over once, however often its condition is looked at, and whichever condition of its event holds."""

from datetime import UTC, datetime, timedelta
from typing import Any

from ratewindow.contrib.alerts.conditions import KINDS, Condition
from ratewindow.contrib.alerts.sending import QUIET, Changes, changes

NOW = datetime(2027, 1, 15, 8, 30, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def many(count: int = 100) -> Condition:
    return Condition("refused_a_minute", "login", f"login refuses {count}.")


def at(raised: Any, minute: int, *holds: Condition, watched: Any = KINDS, unknown: Any = ()) -> Changes:
    return changes(raised, holds, watched, unknown, NOW + minute * MINUTE)


def test_it_is_new_once_and_over_once_it_has_not_held_for_long() -> None:
    first = at({}, 0, many())
    assert [(each["rule"], each["text"]) for each in first.new] == [("login", "login refuses 100.")]
    again = at(first.raised, 1, many(150))
    assert not (again.new or again.over)
    assert again.raised[many().key] == {
        "condition": "refused_a_minute",
        "rule": "login",
        "since": NOW.isoformat(),
        "last": (NOW + MINUTE).isoformat(),
        "text": "login refuses 150.",
    }
    pause = at(again.raised, 10)
    assert not (pause.new or pause.over or at(pause.raised, 10, many()).new)
    after = at(pause.raised, 11)
    assert [each["text"] for each in after.over] == ["login refuses 150."]
    assert after.raised == {}
    assert timedelta(minutes=10) == QUIET


UNUSUAL = Condition("unusual", "login", "login refuses far more.")
EVERYBODY = Condition("everybody", "login", "login refuses nearly everybody.")


def test_the_refusals_of_one_rule_are_one_alert_with_the_strongest_sentence() -> None:
    first = at({}, 0, UNUSUAL, many())
    assert [(each["condition"], each["text"]) for each in first.new] == [("unusual", "login refuses far more.")]
    weaker = at(first.raised, 1, many())
    assert not (weaker.new or weaker.over or at(weaker.raised, 2, UNUSUAL, many()).new)
    assert [each["text"] for each in at(weaker.raised, 11).over] == ["login refuses 100."]


def test_it_is_sent_once_more_when_a_rule_refuses_everybody_and_no_more_when_it_does_so_again() -> None:
    first = at({}, 0, UNUSUAL)
    worse = at(first.raised, 1, EVERYBODY, UNUSUAL, many())
    assert [each["condition"] for each in worse.new] == ["everybody"]
    better = at(worse.raised, 2, UNUSUAL)
    assert not (better.new or better.over)
    assert [each["text"] for each in better.raised.values()] == ["login refuses far more."]
    assert not at(better.raised, 3, EVERYBODY).new
    assert [each["condition"] for each in at(better.raised, 12).over] == ["everybody"]


def test_another_rule_is_another_alert() -> None:
    first = at({}, 0, many())
    both = at(first.raised, 1, many(), Condition("refused_a_minute", "search", "search refuses 9."))
    assert [each["rule"] for each in both.new] == ["search"]


def test_what_is_unknown_is_not_over() -> None:
    first = at({}, 0, many())
    away = at(first.raised, 60, unknown=["refused_a_minute"])
    assert not away.over
    assert away.raised == first.raised


def test_what_is_no_longer_watched_is_forgotten_in_silence() -> None:
    after = at(at({}, 0, many()).raised, 60, watched=["unusual"])
    assert not after.over
    assert after.raised == {}
