"""Texts that pages translate: what is wrong with a value."""

import pytest

from ratewindow.conf import in_words
from ratewindow.conf.in_words import translated
from ratewindow.limiter.problem import Problem, translatable


@pytest.fixture(autouse=True)
def _upper(monkeypatch: pytest.MonkeyPatch) -> None:
    """A language in which two phrases are in capitals."""
    monkeypatch.setattr(in_words, "gettext", lambda text: text.replace("is wrong", "IS WRONG").replace("such as", "SUCH AS"))


def test_a_problem_is_translated_with_the_problems_and_the_texts_in_it() -> None:
    inner = Problem("{value!r} is wrong", value="such as is wrong")
    outer = Problem("{field}: {problem}: write {examples}", field="key", problem=inner, examples=translatable("such as ip"))
    assert translated(outer) == "key: 'such as is wrong' IS WRONG: write SUCH AS ip"
    assert str(outer) == "key: 'such as is wrong' is wrong: write such as ip"


def test_any_other_error_says_what_it_says() -> None:
    assert translated(ValueError("such as {this}")) == "such as {this}"
