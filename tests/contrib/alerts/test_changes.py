"""An alert is new once and over once, however often its condition is looked at."""

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
