"""The kill switch as a value."""

import json
import time

import pytest
import time_machine
from django.utils import translation

from ratewindow.rules.kill_switch import MOST, MOST_WORDS, ON, Switch, from_text

NOON_S = 1_795_176_000.0  # 2026-11-20 12:00 UTC


def test_it_ends_by_itself() -> None:
    switch = Switch(off=True, until_s=100.0)
    assert switch.is_off(99.9)
    assert not switch.is_off(100.0)
    assert Switch(off=True).is_off(1e12)
    assert not ON.is_off(0.0)


@pytest.mark.parametrize(
    ("switch", "words"),
    [
        (ON, "on"),
        (Switch(off=True), "off until somebody switches them on"),
        (Switch(off=True, until_s=NOON_S + 1800, by="ann", reason="a campaign"), "off until 12:30, by ann: a campaign"),
        (Switch(off=True, until_s=NOON_S + 86_400), "off until 21 Nov, 12:00"),
    ],
)
def test_it_is_described(switch: Switch, words: str) -> None:
    with time_machine.travel("2026-11-20 12:00:00+00:00", tick=False):
        assert switch.words() == words


def test_logs_have_it_in_english_and_readers_in_their_language() -> None:
    switch = Switch(off=True, by="ann")
    with translation.override("ru"):
        assert switch.words() == "off until somebody switches them on, by ann"
        assert switch.how() == "до включения вручную, автор — ann"


def test_its_text_is_read_again() -> None:
    switch = Switch(off=True, until_s=time.time() + 60, reason="a campaign", by="ann", at_s=time.time())
    assert from_text(switch.to_text()) == switch
    assert from_text(switch.to_text().encode()) == switch


@pytest.mark.parametrize(
    "text",
    [None, "", "{", "[]", "null", '{"on": true}', '{"off": 1}', '{"off": true, "until_s": -1}', '{"off": true, "reason": 5}'],
)
def test_any_other_text_is_no_switch(text: str | None) -> None:
    assert from_text(text) is None


def test_a_change_far_in_the_future_is_no_switch_since_none_would_be_newer() -> None:
    assert from_text(json.dumps({"off": True, "at_s": time.time() + 2 * MOST.total_seconds()})) is None


def test_a_reason_is_printable_and_short_whoever_wrote_it() -> None:
    switch = from_text(json.dumps({"off": True, "reason": "a\n\x1b" + "x" * 1000}))
    assert switch is not None and switch.reason == "a  " + "x" * (MOST_WORDS - 3)
