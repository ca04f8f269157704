"""The list of promises tells the truth: each stands in the README or in the docs, and the tests that show it are there."""

import re
from pathlib import Path

import pytest

from tests.promises import PROMISES

TESTS = Path(__file__).resolve().parent.parent


def plain(text: str) -> str:
    """A text without Markdown's links, emphasis, code, comments of code and line breaks."""
    text = re.sub(r"\[([^\]]+)\]\([^)]+\)", r"\1", text)
    return re.sub(r"\s+", " ", re.sub(r"[*`]|^# ?", "", text, flags=re.MULTILINE))


PAGES = [plain(path.read_text()) for path in (TESTS.parent / "README.md", *sorted(TESTS.parent.glob("docs/**/*.md")))]


@pytest.mark.parametrize("promise", PROMISES)
def test_each_promise_stands_where_a_reader_finds_it(promise: str) -> None:
    assert any(promise in page for page in PAGES)


@pytest.mark.parametrize("promise", PROMISES)
def test_each_is_shown_by_tests_that_exist(promise: str) -> None:
    assert PROMISES[promise]
    for test in PROMISES[promise]:
        path, _, name = test.partition("::")
        assert re.search(rf"^ *(async )?def {name}\(", (TESTS / path).read_text(), re.MULTILINE), f"{test} is gone"
