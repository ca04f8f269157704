"""What this process follows of the turns of the kill switch that it learns of, in whatever order."""

import logging
import time

import pytest

from ratewindow.rulebook import kill_switch
from ratewindow.rules.kill_switch import Switch


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
