"""What this process follows of the turns of the kill switch that it learns of, in whatever order."""

import json
import logging
import time

import pytest

from ratewindow.rulebook import kill_switch
from ratewindow.rulebook.kill_switch import Switch


def test_the_newest_turn_holds_and_each_change_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    now_s = time.time()
    with caplog.at_level(logging.WARNING, "ratewindow"):
        kill_switch.learn(Switch(off=True, by="ann", at_s=now_s))
        kill_switch.learn(Switch(off=False, at_s=now_s - 60))
        kill_switch.learn(None)
        assert kill_switch.off and kill_switch.turned.by == "ann"
        kill_switch.learn(Switch(off=False, at_s=now_s + 1))
    assert not kill_switch.off
    assert len(caplog.records) == 2


def test_limits_are_on_again_when_the_time_is_over() -> None:
    now_s = time.time()
    kill_switch.learn(Switch(off=True, until_s=now_s - 1, at_s=now_s - 60))
    assert not kill_switch.off


JUNK = [
    *(None, "", "{", "[]", "1", '{"no": 1}', "[" * 100_000, '{"off": 1}', '{"off": "no"}', '{"off": true, "reason": 5}'),
    *(f'{{"off": true, "until_s": {each}, "at_s": 1}}' for each in ("-1", "1e300", "NaN", '""', '"soon"')),
    *(f'{{"off": true, "at_s": {each}}}' for each in ("1e300", "null", '"x"')),
]


@pytest.mark.parametrize("junk", JUNK, ids=lambda junk: str(junk)[:40])
def test_what_another_program_wrote_turns_nothing(junk: str | None) -> None:
    assert kill_switch.from_redis(junk) is None


def test_a_turn_far_in_the_future_is_none_since_no_other_would_be_newer() -> None:
    ahead_s = time.time() + 2 * kill_switch.MOST_DAYS * 86_400
    assert kill_switch.from_redis(json.dumps({"off": True, "at_s": ahead_s})) is None
