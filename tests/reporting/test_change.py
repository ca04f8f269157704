"""A number against the period before, in words."""

import pytest

from ratewindow.reporting.change import change


@pytest.mark.parametrize(
    ("now", "before", "words"),
    [
        (41_230, 39_644, "+4 %"),
        (18_442, 302, "×61"),
        (5, 2, "×2.5"),
        (4, 2, "×2"),
        (199, 100, "+99 %"),
        (90, 100, "−10 %"),
        (0, 100, "−100 %"),
        (100, 100, "as before"),
        (1000, 1001, "as before"),
        (0, 0, "as before"),
        (5, 0, "none before"),
        (5, None, ""),
    ],
)
def test_a_change_in_words(now: int, before: int | None, words: str) -> None:
    assert change(now, before) == words
