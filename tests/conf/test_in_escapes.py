"""Text that others wrote, in lines of a log and of commands."""

import logging

import pytest

logger = logging.getLogger("ratewindow")


def test_what_others_wrote_stays_in_the_line_of_its_message(caplog: pytest.LogCaptureFixture) -> None:
    logger.warning("ratewindow: %s of %d, %s, %s", "a\nb\x1b[31m\x9bé", 7, OSError("c\x07\nd"), {"e": "f"})
    assert caplog.messages == ["ratewindow: a\\nb\\u001b[31m\\u009bé of 7, c\\u0007\\nd, {'e': 'f'}"]


def test_a_message_without_values_is_as_it_was(caplog: pytest.LogCaptureFixture) -> None:
    logger.warning("ratewindow: two\nlines, 100 %")
    assert caplog.messages == ["ratewindow: two\nlines, 100 %"]
