"""The switch of recordings: it has an end, is bounded, is in the history, and says why it does not begin."""

from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.test import override_settings

from ratewindow.conf import time_zone
from ratewindow.limiter.types import Window
from ratewindow.models import Edit, RateRule, Recording, origin
from ratewindow.operations import recordings
from ratewindow.operations.history import states
from tests.support.rule_pages import define

pytestmark = pytest.mark.django_db


def soon(days: float = 7) -> Any:
    return time_zone.now() + timedelta(days=days)


def window(rule: RateRule) -> Window:
    return recordings.windows(rule)[0]


def test_it_is_in_the_history_with_who_and_why_and_is_no_state_to_restore() -> None:
    rule, until = define(), soon()
    with origin.edits("admin", by="ann", reason="is 5 enough?"):
        recording = recordings.start(rule, window(rule), until)
        recordings.end(recording)
    ended, started = Edit.objects.filter(kind=Edit.Kind.RECORDING)
    assert (started.subject, started.action, started.by, started.reason) == ("login", "added", "ann", "is 5 enough?")
    assert started.after == {"limit": "5/m", "until": until.isoformat()}
    assert (ended.action, ended.before) == ("changed", started.after)
    assert {subject.kind for subject in states.at(time_zone.now())} == {Edit.Kind.RULE}


def test_it_ends_by_itself_and_can_go_on() -> None:
    rule = define()
    recording = recordings.start(rule, window(rule), soon(1))
    assert recordings.is_going_on(recording)
    Recording.objects.update(until=time_zone.now() - timedelta(seconds=1))
    recording.refresh_from_db()
    assert not recordings.is_going_on(recording)
    recordings.go_on(recording, soon(1))
    assert recordings.is_going_on(Recording.objects.get())


@pytest.mark.parametrize("days", [-1, 0, 15])
def test_an_end_that_is_past_or_too_far_away_is_refused(days: float) -> None:
    rule = define()
    with pytest.raises(ValueError, match="ends within 14 days"):
        recordings.start(rule, window(rule), soon(days))
    recording = recordings.start(rule, window(rule), soon(14))
    with pytest.raises(ValueError, match="ends within 14 days"):
        recordings.go_on(recording, soon(days))


def test_a_rule_is_recorded_once_at_a_time() -> None:
    rule = define()
    recordings.start(rule, window(rule), soon())
    with pytest.raises(ValueError, match="login is being recorded already: end that recording first"):
        recordings.start(rule, window(rule), soon())


def test_so_many_rules_and_no_more_are_recorded_at_once() -> None:
    for number in range(recordings.MOST_AT_ONCE):
        rule = define(f"rule-{number}")
        recordings.start(rule, window(rule), soon())
    another = define()
    with pytest.raises(ValueError, match="10 rules are being recorded already: end one of these"):
        recordings.start(another, window(another), soon())


def test_only_limits_that_count_over_a_period_can_be_recorded() -> None:
    rule = define(rate="5/m; 20/h")
    rule.windows.filter(limit=20).update(algorithm="token_bucket")
    assert [each.limit for each in recordings.windows(rule)] == [5]
    with pytest.raises(ValueError, match="20/h admits bursts"):
        recordings.start(rule, Window(20, 3_600_000, algorithm="token_bucket"), soon())


def test_a_rule_that_is_off_meets_nothing() -> None:
    rule = define(mode="off")
    with pytest.raises(ValueError, match="login is off and meets no requests: put it in shadow first"):
        recordings.start(rule, window(rule), soon())


@pytest.mark.parametrize(
    ("setting", "message"), [({"STATS": False}, "STATS is off"), ({"REDIS": "memory://"}, "use a Redis server")]
)
def test_without_statistics_or_redis_it_does_not_begin(setting: dict[str, Any], message: str) -> None:
    rule = define()
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, **setting}), pytest.raises(ValueError, match=message):
        recordings.start(rule, window(rule), soon())


def test_the_latest_recording_of_a_rule_is_the_one_to_show() -> None:
    rule = define()
    recordings.end(recordings.start(rule, window(rule), soon()))
    second = recordings.start(rule, window(rule), soon())
    assert recordings.latest("login") == second
    assert recordings.latest("search") is None
