"""PathVariants: what is one client where a rule normalises."""

import unicodedata

import pytest
from hypothesis import given, strategies as st

from ratewindow.identity.typed_values import MOST_NORMALISED, normalised


@pytest.mark.parametrize(
    "spelling",
    [
        "André@Example.com",
        "Andre\u0301@example.com",
        "ANDRÉ@EXAMPLE.COM",
        " andré@example.com",
        "andré@example.com \t\u00a0\u2003",
        "ａｎｄｒé＠ｅｘａｍｐｌｅ．ｃｏｍ",
    ],
)
def test_case_blanks_and_the_form_of_letters_make_no_other_client(spelling: str) -> None:
    assert normalised(spelling) == "andré@example.com"


@pytest.mark.parametrize(
    ("one", "other"), [("straße", "STRASSE"), ("ﬁne", "FINE"), ("Σίσυφος", "ΣΊΣΥΦΟΣ"), ("a  b", "a\u3000b"), ("a\r\nb", "a b")]
)
def test_two_spellings_of_one_word_are_one(one: str, other: str) -> None:
    assert normalised(one) == normalised(other)


@pytest.mark.parametrize(("one", "other"), [("ann", "anna"), ("a b", "ab"), ("jose", "josé"), ("a\u200bb", "ab"), ("а", "a")])
def test_what_looks_alike_but_is_another_word_stays_another(one: str, other: str) -> None:
    assert normalised(one) != normalised(other)


@given(st.text(max_size=40))
def test_normalising_twice_changes_nothing(text: str) -> None:
    assert normalised(normalised(text)) == normalised(text)


@given(st.text(max_size=40))
def test_composed_and_decomposed_are_one(text: str) -> None:
    assert normalised(unicodedata.normalize("NFC", text)) == normalised(unicodedata.normalize("NFD", text))


def test_blanks_do_not_make_a_name_too_long_to_be_normalised() -> None:
    assert normalised("Ann" + " " * 60_000) == "ann"
    assert normalised(" " * 60_000 + "ＡＮＮ") == "ann"


def test_marks_that_take_long_to_put_in_order_are_left_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    sorted_lengths: list[int] = []
    normalize = unicodedata.normalize
    monkeypatch.setattr(unicodedata, "normalize", lambda form, text: sorted_lengths.append(len(text)) or normalize(form, text))
    worst = "a" + "\u0315\u0300" * 32_000  # takes time by the square of its length
    assert normalised(worst) == worst.casefold()
    normalised(worst[:MOST_NORMALISED])
    assert sorted_lengths and max(sorted_lengths) <= 2 * MOST_NORMALISED
