"""The kill switch: it acts in every process with Redis or the database away, lets go by itself, and the last turn holds."""

import json
import logging
import time
from dataclasses import asdict
from typing import Any

import pytest
import time_machine
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import connection as database
from django.test import override_settings

import ratewindow
from ratewindow.limiter.rates import parse_rates
from ratewindow.management.subcommands import limiting
from ratewindow.models import LimitSwitch, RateRule
from ratewindow.operations import switch_off
from ratewindow.rulebook import current, edits, kill_switch, reading
from ratewindow.rulebook.current import Rulebook
from ratewindow.rulebook.kill_switch import Switch
from ratewindow.rules.rule import Rule
from ratewindow.store import outage, state_keys
from tests.support.doors import behind_middleware, decorated, plain, statuses

pytestmark = pytest.mark.django_db(transaction=True)

is_async = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
NOWHERE = "redis://127.0.0.1:1/0"


def another_process() -> None:
    """As one that has heard of nothing so far."""
    edits._state, reading._progress = edits._State(), reading._Progress()
    kill_switch.reset()


def enforce(*names: str) -> None:
    for name in names:
        RateRule.objects.define(name, "1/m", applies_to="all", mode="enforce")


@pytest.fixture
def redis_away() -> Any:
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "REDIS": NOWHERE}):
        yield


@pytest.fixture
def no_table() -> Any:
    with database.schema_editor() as editor:
        editor.delete_model(LimitSwitch)
    yield
    with database.schema_editor() as editor:
        editor.create_model(LimitSwitch)


@is_async
def test_while_off_nothing_is_refused_and_nothing_charged(is_async: bool, redis_client: Any) -> None:
    enforce("api")
    switch_off.turn_off()
    assert statuses(behind_middleware(plain(is_async)), 3) == [200] * 3
    assert statuses(decorated(is_async, "view", "1/m"), 3) == [200] * 3
    assert ratewindow.hit("api", "user:1").decisions == ()
    assert redis_client.keys("rw:s:*") == []
    switch_off.turn_on()
    assert statuses(behind_middleware(plain(is_async)), 3) == [200, 429, 429]


def test_a_refusal_that_is_known_does_not_outlive_the_switch() -> None:
    current._held.book = Rulebook([Rule("api", parse_rates("1/m"))])
    assert [ratewindow.hit("api", "user:1").allowed for _ in range(2)] == [True, False]
    assert outage.refusals
    switch_off.turn_off()
    assert ratewindow.hit("api", "user:1").allowed


def test_other_processes_hear_of_it_from_redis_at_their_next_look(caplog: pytest.LogCaptureFixture) -> None:
    switch_off.turn_off(60, "too strict", "ann")
    LimitSwitch.objects.all().delete()
    another_process()
    edits.check_redis()
    assert kill_switch.off
    with caplog.at_level(logging.WARNING, "ratewindow"):
        caplog.clear()
        edits.check_redis()
    assert not caplog.records
    assert (kill_switch.turned.reason, kill_switch.turned.by) == ("too strict", "ann")


def test_or_from_the_rows_when_redis_is_away(redis_away: None) -> None:
    (sentence,) = switch_off.turn_off(60)
    assert sentence.startswith("Redis was not reached")
    another_process()
    edits.check_redis()
    assert not kill_switch.off
    reading.reload()
    assert kill_switch.off


def test_or_from_redis_when_the_database_is_away(no_table: None) -> None:
    (sentence,) = switch_off.turn_off(60)
    assert sentence.startswith("The database was not reached")
    another_process()
    edits.check_redis()
    reading.reload()
    assert kill_switch.off


def test_with_neither_nothing_is_done(no_table: None, redis_away: None) -> None:
    with pytest.raises(OSError, match="Neither Redis nor the database was reached"):
        switch_off.turn_off()
    assert not kill_switch.off
    with pytest.raises(CommandError, match="Neither Redis nor the database was reached"):
        call_command("ratewindow", "off")


def test_it_lets_go_by_itself(redis_client: Any) -> None:
    switch_off.turn_off(60)
    edits.check_redis()
    assert kill_switch.off
    with time_machine.travel(time.time() + 61, tick=False):
        edits.check_redis()
        assert not kill_switch.off
        another_process()
        reading.reload()
        edits.check_redis()
        assert not kill_switch.off


def test_without_an_end_it_stays(redis_client: Any) -> None:
    switch_off.turn_off()
    with time_machine.travel(time.time() + 30 * 86_400, tick=False):
        edits.check_redis()
        assert kill_switch.off


@pytest.mark.parametrize("later", ["row", "key"])
def test_the_one_changed_last_holds(redis_client: Any, later: str) -> None:
    switch_off.turn_off()
    newer = Switch(False, None, "", "", time.time() + 5)
    if later == "row":
        switch_off._save(newer)
    else:
        redis_client.set(state_keys.switch(), json.dumps(asdict(newer)))
    another_process()
    edits.check_redis()
    reading.reload()
    edits.check_redis()
    assert not kill_switch.off


def test_a_clock_that_is_behind_still_turns_it(redis_client: Any) -> None:
    with time_machine.travel(time.time() + 3600, tick=False):
        switch_off.turn_off()
    switch_off.turn_on()
    another_process()
    edits.check_redis()
    reading.reload()
    assert not kill_switch.off


def test_so_does_one_that_finds_a_row_by_a_clock_that_is_ahead(redis_client: Any) -> None:
    ahead = Switch(True, None, "", "", time.time() + 3600)
    switch_off._save(ahead)
    another_process()
    switch_off.turn_on()
    assert not LimitSwitch.objects.get().off
    told = kill_switch.from_redis(redis_client.get(state_keys.switch()))
    assert told is not None and not told.off and told.at_s > ahead.at_s
    another_process()
    kill_switch.learn(ahead)
    edits.check_redis()
    reading.reload()
    assert not kill_switch.off


def test_the_key_of_one_that_has_ended_goes_after_a_day(redis_client: Any) -> None:
    switch_off.turn_off(60)
    assert 86_400 < redis_client.ttl(state_keys.switch()) <= 86_460
    switch_off.turn_off()
    assert redis_client.ttl(state_keys.switch()) == -1


def test_a_list_under_its_key_does_not_stop_the_rules(redis_client: Any) -> None:
    redis_client.lpush(state_keys.switch(), "x")  # MGET tells it as nothing
    edits.check_redis()
    assert not edits._state.is_alone


def test_the_setting_stands_above_it(capsys: pytest.CaptureFixture[str]) -> None:
    enforce("api")
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "ENABLED": False}):
        call_command("ratewindow", "on")
        assert "ENABLED" in capsys.readouterr().out
        assert statuses(behind_middleware(plain(False)), 3) == [200] * 3


def test_a_row_that_somebody_saves_is_announced(redis_client: Any) -> None:
    before = redis_client.get(state_keys.token())
    switch_off._save(Switch(True, None, "", "", time.time()))
    assert redis_client.get(state_keys.token()) != before
    assert kill_switch.off


def test_a_rule_edited_meanwhile_holds_afterwards() -> None:
    switch_off.turn_off()
    enforce("api")
    assert statuses(behind_middleware(plain(False)), 2) == [200, 200]
    switch_off.turn_on()
    assert statuses(behind_middleware(plain(False)), 2) == [200, 429]


def test_its_reason_is_one_line_and_cannot_control_the_terminal_on_which_a_command_logs_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    switch_off.turn_off(3600, "deploy\n\x1b]0;owned\x07\nSettings: no problems.\u2028x")
    assert LimitSwitch.objects.get().reason == "deploy \x1b]0;owned\x07 Settings: no problems. x"
    for line in caplog.messages:
        assert "deploy \\u001b]0;owned\\u0007 Settings" in line


def test_a_long_refresh_does_not_hold_it_up() -> None:
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "REFRESH": "1h"}):
        assert edits.interval_s() <= limiting.ACTS_S / 2
