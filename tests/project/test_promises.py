"""The list of promises tells the truth: each stands in the README, and the tests that show it are there."""

import re
from pathlib import Path

import pytest

from tests.promises import PROMISES

TESTS = Path(__file__).resolve().parent.parent


def plain(text: str) -> str:
    """A text without Markdown's links, emphasis, code, comments of code and line breaks."""
    text = re.sub(r"\[([^\]]+)\]\([^)]+\)", r"\1", text)
    return re.sub(r"\s+", " ", re.sub(r"[*`]|^# ?", "", text, flags=re.MULTILINE))


@pytest.mark.parametrize("promise", PROMISES)
def test_each_promise_stands_in_the_readme(promise: str) -> None:
    assert promise in plain((TESTS.parent / "README.md").read_text())


@pytest.mark.parametrize("promise", PROMISES)
def test_each_is_shown_by_tests_that_exist(promise: str) -> None:
    assert PROMISES[promise]
    for test in PROMISES[promise]:
        path, _, name = test.partition("::")
        assert re.search(rf"^ *(async )?def {name}\(", (TESTS / path).read_text(), re.MULTILINE), f"{test} is gone"
