"""Conditions under which a request counts, as people type them."""

import pytest

from ratewindow.rules.rule import CountWhen, parse_count_when


def test_always_is_no_condition() -> None:
    assert parse_count_when("always") is None


def test_failed_logins() -> None:
    assert parse_count_when(" Login_Failed ") == CountWhen(login_failed=True)


def test_statuses_and_whole_classes_of_them() -> None:
    condition = parse_count_when("401, 403 5XX")
    assert condition is not None
    assert condition.statuses == {401, 403, *range(500, 600)}


@pytest.mark.parametrize("text", ["", " , ", "sometimes", "600", "6xx", "99", "4x", "login_failed,401", "always,401", "x" * 999])
def test_anything_else_is_an_error_that_names_the_remedy(text: str) -> None:
    with pytest.raises(ValueError, match="401,403,5xx"):
        parse_count_when(text)
