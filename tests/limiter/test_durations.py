"""Durations as people type them."""

import contextlib
from datetime import timedelta

import pytest
from hypothesis import given, strategies as st

from ratewindow.limiter.durations import format_duration, parse_duration


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("500ms", 500),
        ("10s", 10_000),
        ("1m", 60_000),
        ("2h30m", 9_000_000),
        ("1d2h3m4s", 93_784_000),
        ("1w", 604_800_000),
        (" 2 H 30 Min ", 9_000_000),
        ("90 seconds", 90_000),
        ("1 day 2 hours", 93_600_000),
        (timedelta(minutes=1, milliseconds=1), 60_001),
    ],
)
def test_text_with_units_and_timedeltas_are_milliseconds(text: str | timedelta, milliseconds: int) -> None:
    assert parse_duration(text) == milliseconds


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("60", "'60' has no unit: write 60s for seconds"),
        (60, "60 has no unit: write text such as 10s, 1m, 2h30m"),
        (1.5, "1.5 has no unit"),
        (True, "True has no unit"),
        (None, "None has no unit"),
        ("", "'' is not a duration: write 10s, 1m, 2h30m"),
        ("m", "'m' is not a duration"),
        ("-1m", "'-1m' is not a duration"),
        ("1.5h", "'1.5h' is not a duration"),
        ("1e12", "'1e12' is not a duration"),
        ("١٠s", "'١٠s' is not a duration"),
        ("１０s", "'１０s' is not a duration"),
        ("1m\x00", "is not a duration"),
        ("1m" * 100, "is not a duration"),
        ("0s", "'0s' is zero: write at least 1ms"),
        ("2 months", "'2 months': 'months' has no fixed length: write 30d"),
        ("1h 5 parsecs", "'1h 5 parsecs': 'parsecs' is not a unit of time: use ms, s, m, h, d or w"),
        (timedelta(0), "0:00:00 is not a positive whole number of milliseconds: give at least one"),
        (timedelta(seconds=-1), "is not a positive whole number of milliseconds"),
        (timedelta(microseconds=1500), "is not a positive whole number of milliseconds"),
    ],
)
def test_anything_else_is_named_with_the_remedy(value: str, told: str) -> None:
    with pytest.raises(ValueError) as error:
        parse_duration(value)
    assert told in str(error.value)


def test_a_long_text_is_refused_at_once_and_not_repeated_in_full() -> None:
    with pytest.raises(ValueError) as error:
        parse_duration("1" * 100_000 + "x" * 100_000)
    assert len(str(error.value)) < 200


@given(st.integers(min_value=1, max_value=2**52))
def test_what_is_written_is_read_back(milliseconds: int) -> None:
    assert parse_duration(format_duration(milliseconds)) == milliseconds


@given(st.text(max_size=20))
def test_any_text_is_a_duration_or_a_value_error(text: str) -> None:
    with contextlib.suppress(ValueError):
        assert parse_duration(text) > 0
