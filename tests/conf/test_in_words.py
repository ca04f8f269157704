"""Durations in the language of whoever reads them."""

import pytest
from django.utils import translation

from ratewindow.conf.in_words import duration, percent


@pytest.mark.parametrize(
    ("minutes", "words"),
    [(1, "1 минуту"), (2, "2 минуты"), (5, "5 минут"), (11, "11 минут"), (21, "21 минуту"), (22, "22 минуты")],
)
def test_a_count_has_the_form_that_its_language_wants(minutes: int, words: str) -> None:
    with translation.override("ru"):
        assert duration(minutes * 60_000) == words


def test_a_language_without_plurals_has_one_form() -> None:
    with translation.override("zh-hans"):
        assert {duration(minutes * 60_000).strip("0123456789 ") for minutes in (1, 2, 21)} == {"分钟"}


@pytest.mark.parametrize(
    ("part", "whole", "text"),
    [
        (0, 0, "0 %"),
        (0, 5, "0 %"),
        (1, 100_000, "< 0.1 %"),
        (1, 3, "33 %"),
        (813, 14_625, "5.5 %"),
        (995, 10_000, "9.9 %"),
        (999, 1000, "99.9 %"),
        (5, 5, "100 %"),
        (99_999, 100_000, "99.9 %"),
    ],
)
def test_a_share_never_hides_that_something_happened(part, whole, text):
    assert percent(part, whole) == text


@pytest.mark.parametrize(("part", "whole", "text"), [(4, 1000, "0,4\xa0%"), (1, 100_000, "< 0,1\xa0%")])
def test_a_share_has_the_decimal_sign_of_the_language(part: int, whole: int, text: str) -> None:
    with translation.override("ru"):
        assert percent(part, whole) == text
