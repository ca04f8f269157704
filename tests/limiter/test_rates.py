"""Rates as text."""

import pytest
from hypothesis import given, strategies as st

from ratewindow.limiter.rates import parse_rates


@pytest.mark.parametrize(
    ("text", "limits"),
    [
        ("10/m", [(10, 60_000)]),
        ("5/10s", [(5, 10_000)]),
        ("100/2h", [(100, 7_200_000)]),
        ("7/2h30m", [(7, 9_000_000)]),
        ("10 per minute", [(10, 60_000)]),
        ("10 per 2 minutes", [(10, 120_000)]),
        ("1/500ms", [(1, 500)]),
        ("10/week", [(10, 604_800_000)]),
        ("10/weeks", [(10, 604_800_000)]),
        ("0/s", [(0, 1000)]),
        (" 5 / M ; 20/Hour; ", [(5, 60_000), (20, 3_600_000)]),
        ("", []),
        (" ; ", []),
    ],
)
def test_a_rate_is_windows_and_several_are_joined_by_a_semicolon(text: str, limits: list[tuple[int, int]]) -> None:
    assert [(window.limit, window.period_ms) for window in parse_rates(text)] == limits


@pytest.mark.parametrize("unit", "ms s sec second m min minute h hour d day w week".split())
def test_every_promised_unit_is_known_alone_and_in_the_plural(unit: str) -> None:
    (one,) = parse_rates(f"5/{unit}")
    (three,) = parse_rates(f"5/3{unit if unit == 'ms' or len(unit) == 1 else unit + 's'}")
    assert three.period_ms == 3 * one.period_ms


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "10/month",
            "'month' has no fixed length: write 30d; for a month of the calendar, use a fixed window aligned to month",
        ),
        ("10/2months", "rate '10/2months': '2months': 'months' has no fixed length: write 30d"),
        ("10/parsec", "rate '10/parsec': 'parsec' is not a unit of time: use ms, s, m, h, d or w"),
        ("5/m; 10/parsec", "rate '10/parsec'"),
        ("ten/m", "'ten/m' is not a rate: write 5/m, 100/2h, 5/10s or 10 per minute"),
        ("-1/m", "'-1/m' is not a rate"),
        ("1.5/m", "'1.5/m' is not a rate"),
        ("1e18/m", "'1e18/m' is not a rate"),
        ("nan/m", "'nan/m' is not a rate"),
        ("10", "'10' is not a rate"),
        ("10/", "'10/' is not a rate"),
        ("10/60", "'10/60' is not a rate"),
        ("10/0s", "'0s' is zero"),
        ("１０/m", "'１０/m' is not a rate"),
        (
            "1000000000000000000/m",
            "limit 1000000000000000000 is too high to be counted exactly over 1m: write at most 75059993",
        ),
        ("0/9999999999w", "is too long to be counted: write at most 52124995d"),
        ("5/m; 20/60s", "'5/m; 20/60s' has two limits for 1m: keep the lower one"),
        (10, "10 is not a rate: write text such as 5/m"),
        (None, "None is not a rate"),
    ],
)
def test_anything_else_is_named_with_the_remedy(text: str, told: str) -> None:
    with pytest.raises(ValueError) as error:
        parse_rates(text)
    assert told in str(error.value)


def test_a_long_text_is_not_repeated_in_full() -> None:
    with pytest.raises(ValueError) as error:
        parse_rates("9" * 100_000)
    assert len(str(error.value)) < 200


@given(st.integers(0, 1000), st.integers(1, 10**9))
def test_what_a_window_says_of_itself_is_read_back(limit: int, period_ms: int) -> None:
    (window,) = parse_rates(f"{limit}/{period_ms}ms")
    assert parse_rates(window.text) == (window,)
