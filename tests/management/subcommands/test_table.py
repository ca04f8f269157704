"""Columns of text."""

from ratewindow.management.subcommand import table


def test_columns_are_as_wide_as_their_widest_cell() -> None:
    assert table(("RULE", "PER"), [("a", "user"), ("login", "ip")]).splitlines() == [
        "RULE   PER",
        "-----  ----",
        "a      user",
        "login  ip",
    ]
