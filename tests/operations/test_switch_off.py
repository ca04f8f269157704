"""The kill switch: it acts in every process with Redis or the database away, lets go by itself, and the last turn holds."""

import logging
import time
from typing import Any

import pytest
import redis
import time_machine
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import connection as database
from django.test import override_settings

import ratewindow
from ratewindow.limiter.rates import parse_rates
from ratewindow.limiter.redis.thread_deadline import running
from ratewindow.management.subcommands import off
from ratewindow.models import LimitSwitch, RateRule
from ratewindow.operations import switch_off
from ratewindow.rulebook import current, edits, kill_switch, reading
from ratewindow.rulebook.current import Rulebook
from ratewindow.rules.kill_switch import ON, Switch, from_text
from ratewindow.rules.rule import Rule
from ratewindow.store import outage, state_keys
from tests.support.doors import behind_middleware, decorated, plain, statuses

pytestmark = pytest.mark.django_db(transaction=True)

is_async = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
NOWHERE = "redis://127.0.0.1:1/0"


def another_process() -> None:
    """As one that has heard of nothing so far."""
    edits.reset()
    reading.reset()
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
    told = switch_off.turn_off(60)
    assert told.done
    (sentence,) = told.unreached
    assert sentence.startswith("Redis was not reached")
    another_process()
    edits.check_redis()
    assert not kill_switch.off
    reading.reload()
    assert kill_switch.off


def test_the_row_is_read_while_redis_is_away_however_long_the_rules_rest(
    redis_away: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(edits, "_is_in_memory", lambda database: False)
    switch_off.turn_off(60)
    another_process()
    reading._readings.took_s, reading._readings.ended_at_s = 60.0, time.monotonic()
    edits.check_redis()
    edits.reread()
    assert not kill_switch.off
    edits.reread_switch()
    assert kill_switch.off


def test_or_from_redis_when_the_database_is_away(no_table: None) -> None:
    told = switch_off.turn_off(60)
    assert told.done
    (sentence,) = told.unreached
    assert sentence.startswith("The database was not reached")
    another_process()
    edits.check_redis()
    reading.reload()
    assert kill_switch.off


def test_with_neither_nothing_is_done(no_table: None, redis_away: None) -> None:
    assert not switch_off.turn_off().done
    assert not kill_switch.off
    with pytest.raises(CommandError, match="Neither Redis nor the database could be reached"):
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
    assert 86_000 < redis_client.ttl(state_keys.switch()) <= 86_460


def test_without_an_end_it_stays(redis_client: Any) -> None:
    switch_off.turn_off()
    assert redis_client.ttl(state_keys.switch()) == -1
    with time_machine.travel(time.time() + 30 * 86_400, tick=False):
        edits.check_redis()
        assert kill_switch.off


@pytest.mark.parametrize("later", ["row", "key"])
def test_the_one_changed_last_holds(redis_client: Any, later: str) -> None:
    switch_off.turn_off()
    newer = Switch(False, None, "", "", time.time() + 5)
    if later == "row":
        switch_off._write_database(newer)
    else:
        redis_client.set(state_keys.switch(), newer.to_text())
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
    switch_off._write_database(Switch(True, None, "", "", time.time() + 3600))
    another_process()
    switch_off.turn_on()
    assert not LimitSwitch.objects.get().off
    told = from_text(redis_client.get(state_keys.switch()))
    assert told is not None and not told.off
    another_process()
    edits.check_redis()
    reading.reload()
    assert not kill_switch.off


def test_redis_is_told_before_the_database_is_waited_for(monkeypatch: pytest.MonkeyPatch, redis_client: Any) -> None:
    def hangs() -> None:
        assert redis_client.exists(state_keys.switch())

    monkeypatch.setattr("ratewindow.rulebook.rule_rows.read_switch", hangs)
    assert switch_off.turn_off().done


def test_a_redis_that_hangs_is_waited_for_once_before_the_row_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[str] = []

    class Hanging:
        def get(self, name: str) -> None:
            steps.append(f"get {running.until_s - time.monotonic() <= switch_off.REDIS_S}")
            raise redis.TimeoutError

        def set(self, *_: Any, **__: Any) -> None:
            steps.append(f"set {running.until_s - time.monotonic() <= switch_off.REDIS_S}")
            raise redis.TimeoutError

    def write(switch: Switch) -> list[str]:
        steps.append("row")
        return []

    monkeypatch.setattr("ratewindow.store.process_clients.patient_client", Hanging)
    monkeypatch.setattr(switch_off, "_write_database", write)
    told = switch_off.turn_off()
    assert told.done and told.unreached
    assert steps == ["get True", "row", "set True"]
    # The row is looked at so often while Redis is away, so processes obey within the promised time.
    assert switch_off.REDIS_S + edits.REREAD_ALONE_S <= off.ACTS_S - 1.0


def test_turning_it_while_redis_is_away_says_nothing_of_edited_rules(redis_away: None, caplog: pytest.LogCaptureFixture) -> None:
    switch_off.turn_off()
    assert "edited rules" not in caplog.text
    assert "limits are switched off" in caplog.text


def test_a_redis_that_lost_its_data_is_told_again(redis_client: Any) -> None:
    switch_off.turn_off(60, "why")
    redis_client.flushall()
    edits.check_redis()
    assert from_text(redis_client.get(state_keys.switch())) == kill_switch.turned
    assert redis_client.ttl(state_keys.switch()) > 0


@pytest.mark.parametrize(
    "junk",
    [
        "",
        "{",
        "[]",
        "null",
        "1",
        '{"off": 1}',
        '{"off": true, "until_s": "soon"}',
        '{"no": 1}',
        "[" * 100_000,
        '{"off": true, "until_s": 1e300, "at_s": 1}',
        '{"off": true, "until_s": NaN, "at_s": 1}',
        '{"off": true, "until_s": Infinity, "at_s": 1}',
        '{"off": true, "at_s": 1e300}',
        '{"off": true, "at_s": 1' + "0" * 400 + "}",
        '{"off": true, "until_s": -1, "at_s": 1}',
    ],
    ids=lambda junk: junk[:50],
)
def test_what_another_program_wrote_there_turns_nothing(redis_client: Any, junk: str) -> None:
    redis_client.set(state_keys.switch(), junk)
    edits.check_redis()
    assert kill_switch.turned == ON


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
    switch_off._write_database(Switch(True, None, "", "", time.time()))
    assert redis_client.get(state_keys.token()) != before
    assert kill_switch.off


def test_a_rule_edited_meanwhile_holds_afterwards() -> None:
    switch_off.turn_off()
    enforce("api")
    assert statuses(behind_middleware(plain(False)), 2) == [200, 200]
    switch_off.turn_on()
    assert statuses(behind_middleware(plain(False)), 2) == [200, 429]


def test_the_command_says_what_holds_and_until_when(capsys: pytest.CaptureFixture[str]) -> None:
    with time_machine.travel("2026-11-20 12:00:00+00:00", tick=False):
        call_command("ratewindow", "off", "--for", "30m", "--reason", "a campaign")
        said = capsys.readouterr().out
        assert said.startswith(f"Limits are off until 12:30, by {off.who()}: a campaign.")
        call_command("ratewindow", "off")
        assert "off until somebody switches them on" in capsys.readouterr().out
        call_command("ratewindow", "on")
        assert capsys.readouterr().out.startswith("Limits are on.")
    row = LimitSwitch.objects.get()
    assert (row.off, row.until) == (False, None)


def test_the_command_says_it_once(redis_away: None, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture) -> None:
    for command in ("off", "on"):
        call_command("ratewindow", command)
        told = capsys.readouterr().out.splitlines()
        assert [line.partition(" (")[0].partition(",")[0] for line in told][:1] == ["Redis was not reached"]
        assert len(told) == 2
    assert not caplog.records
    switch_off.turn_off()
    assert caplog.records  # whoever is not told by a command finds it in the log


def test_its_reason_is_one_line_and_cannot_control_the_terminal_on_which_a_command_logs_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    switch_off.turn_off(3600, "deploy\n\x1b]0;owned\x07\nSettings: no problems.\u2028x")
    assert LimitSwitch.objects.get().reason == "deploy \x1b]0;owned\x07 Settings: no problems. x"
    for line in caplog.messages:
        assert "deploy \\u001b]0;owned\\u0007 Settings" in line


def test_an_end_that_is_no_duration_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(CommandError, match="--for"):
        call_command("ratewindow", "off", "--for", "30")
    assert not LimitSwitch.objects.exists()


def test_a_long_refresh_does_not_hold_it_up() -> None:
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "REFRESH": "1h"}):
        assert edits.interval_s() <= off.ACTS_S / 2


class TestAnotherSiteUnderOnePrefix:
    """Which its SECRET_KEY tells apart here."""

    another_site = override_settings(SECRET_KEY="of another site")

    @pytest.fixture(autouse=True)
    def turned_there(self) -> None:
        with self.another_site:
            switch_off.turn_off(reason="a campaign", by="bob")
        LimitSwitch.objects.all().delete()  # which is in its own database
        another_process()

    def test_its_switch_is_not_followed_and_the_log_says_once_whose_it_is(self, caplog: pytest.LogCaptureFixture) -> None:
        with self.another_site:
            its_name = state_keys.fingerprint()
        with caplog.at_level(logging.WARNING, "ratewindow"):
            edits.check_redis()
            edits.check_redis()
        assert not kill_switch.off and not switch_off.current().off
        [line] = [record.getMessage() for record in caplog.records]
        assert f"Another site ({its_name}) has switched limits off until somebody switches them on, by bob: a campaign" in line
        assert "RATEWINDOW['KEY_PREFIX']" in line and state_keys.fingerprint() in line

    def test_its_own_processes_follow(self) -> None:
        with self.another_site:
            edits.check_redis()
            assert kill_switch.off

    def test_a_turn_of_ours_acts_here_and_no_later_one_of_theirs(self) -> None:
        switch_off.turn_off(by="ann")
        another_process()
        edits.check_redis()
        assert kill_switch.turned.by == "ann"
        with self.another_site:
            another_process()
            switch_off._write_redis(Switch(False, None, "", "bob", time.time() + 60))
        another_process()
        edits.check_redis()
        reading.reload()
        edits.check_redis()
        assert kill_switch.off and kill_switch.turned.by == "ann"
