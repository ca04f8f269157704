"""The limits of a rule: what is valid in a row."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.test import override_settings

from tests.support.rows import window, wrong

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("limit", "period", "field", "told"),
    [
        (-1, "1m", "limit", "greater than or equal to 0"),
        ("many", "1m", "limit", "“many” value must be an integer"),
        (10**18, "1m", "limit", "limit 1000000000000000000 is too high to be counted exactly over 1m: write at most 75059993789"),
        (10**30, "1m", "limit", "9223372036854775807"),
        (float("nan"), "1m", "limit", "must be an integer"),
        (5, "0s", "period", "'0s' is zero: write at least 1ms"),
        (5, "-1m", "period", "'-1m' is not a duration: write 10s, 1m"),
        (5, "1e12", "period", "'1e12' is not a duration"),
        (5, "1000000000000", "period", "'1000000000000' has no unit: write 1000000000000s for seconds"),
        (5, "999999999999w", "period", "999999999999w is too long to be counted"),
        (0, "9999999w", "period", "is too long to be counted: write at most 52124995d"),
        (5, 60, "period", "60 has no unit"),
        (5, "", "period", "cannot be null"),
        (5, timedelta(microseconds=1), "period", "is not a positive whole number of milliseconds"),
    ],
)
def test_a_bad_limit_or_period_names_the_value_and_the_remedy(limit: Any, period: Any, field: str, told: str) -> None:
    messages = wrong(window(limit, period))
    assert list(messages) == [field]
    assert told in messages[field][0]


@pytest.mark.parametrize(
    ("fields", "field", "told"),
    [
        ({"buckets": 0}, "buckets", "greater than or equal to 1"),
        ({"buckets": 5000}, "buckets", "buckets 5000: write 1 to 1000"),
        ({"algorithm": "magic"}, "algorithm", "'magic' is not a valid choice"),
    ],
)
def test_a_bad_choice_of_counting_names_its_field(fields: dict[str, Any], field: str, told: str) -> None:
    assert told in wrong(window(**fields))[field][0]


def test_a_fixed_window_counts_up_to_what_is_exact_however_long_its_period_is() -> None:
    how: dict[str, Any] = {"period": timedelta(days=30), "algorithm": "fixed_window", "aligned_to": "month"}
    window(2**52, **how).full_clean()
    told = "limit 4503599627370497 is too high to be counted exactly: write at most 4503599627370496."
    assert wrong(window(2**52 + 1, **how)) == {"limit": [told]}
    assert "write at most 1737499, or a shorter period" in wrong(window(2**52, timedelta(days=30)))["limit"][0]


def test_a_row_begins_its_months_on_the_first_in_the_zone_of_the_site() -> None:
    with override_settings(TIME_ZONE="Europe/Berlin"):
        frozen = window(1000, timedelta(days=30), algorithm="fixed_window", aligned_to="month").freeze()
    assert (frozen.day, frozen.timezone, frozen.text) == (1, "Europe/Berlin", "1000/month")
    assert "write minute with 1m" in wrong(window(5, "31d", algorithm="fixed_window", aligned_to="month"))["aligned_to"][0]


def test_a_limit_of_zero_is_allowed_since_it_refuses_all() -> None:
    window(0).full_clean()


def test_a_rule_has_one_limit_for_each_period() -> None:
    window(5, "60s").save()
    assert "This rule already has a limit for this period" in str(wrong(window(9, "1m")))
    with pytest.raises(IntegrityError), transaction.atomic():
        window(9, "1m").save()
    window(9, "2m").full_clean()
