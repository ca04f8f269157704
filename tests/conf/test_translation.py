"""Texts that pages translate: what is wrong with a value, and what other processes report in English."""

import pytest

from ratewindow.conf import translation
from ratewindow.conf.translation import recognised, translated
from ratewindow.limiter.problem import Problem, translatable


@pytest.fixture(autouse=True)
def _upper(monkeypatch: pytest.MonkeyPatch) -> None:
    """A language in which two phrases are in capitals."""
    monkeypatch.setattr(translation, "gettext", lambda text: text.replace("is wrong", "IS WRONG").replace("such as", "SUCH AS"))


def test_a_problem_is_translated_with_the_problems_and_the_texts_in_it() -> None:
    inner = Problem("{value!r} is wrong", value="such as is wrong")
    outer = Problem("{field}: {problem}: write {examples}", field="key", problem=inner, examples=translatable("such as ip"))
    assert translated(outer) == "key: 'such as is wrong' IS WRONG: write SUCH AS ip"
    assert str(outer) == "key: 'such as is wrong' is wrong: write such as ip"


def test_any_other_error_says_what_it_says() -> None:
    assert translated(ValueError("such as {this}")) == "such as {this}"


def test_a_text_from_another_process_is_recognised_by_its_message() -> None:
    messages = ("{count} of {all} is wrong (see {page})", "all is wrong")
    assert recognised("3 of 100 is wrong (see docs/a.md)", messages) == "3 of 100 IS WRONG (see docs/a.md)"
    assert recognised("all is wrong", messages) == "all IS WRONG"


@pytest.mark.parametrize("text", ["", "another version says this is wrong", "{count.__class__} of is wrong", "x all is wrong"])
def test_any_other_text_stays_as_it_is(text: str) -> None:
    assert recognised(text, ("{count} of {all} is wrong", "all is wrong")) == text
