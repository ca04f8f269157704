"""Regular expressions of rules: RE2's only, and a word where it is not installed."""

import sys

import pytest

from ratewindow.regexes import RegexSet, check_regex


@pytest.mark.parametrize("pattern", ["^/api/", r"/\d+/$", "(a+)+$", "(?i)^/login", "é"])
def test_patterns_that_it_takes(pattern: str) -> None:
    check_regex(pattern)


@pytest.mark.parametrize("pattern", ["(", "(?=a)", r"(a)\1", "((a{100}){100}){100}", "[z-a]", "*"])
def test_a_pattern_that_it_does_not_take_is_named(pattern: str) -> None:
    with pytest.raises(ValueError, match="is no regular expression of RE2"):
        check_regex(pattern)


def test_the_pattern_that_hangs_other_engines_reads_a_long_text_once() -> None:
    """Python's own needs longer than the age of the universe here."""
    assert RegexSet(["^/(a+)+$"]).found_in("/" + "a" * 100_000 + "b") == []
    assert RegexSet(["^/(a+)+$"]).found_in("/" + "a" * 100_000) == [0]


def test_without_google_re2_the_line_to_install_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "re2", None)
    with pytest.raises(ValueError, match=r"pip install 'ratewindow\[regex\]'"):
        check_regex("^/api/")


def test_a_dot_is_any_character_of_a_path_also_a_line_feed() -> None:
    assert RegexSet(["^/export/.*/all$", "^/a.b$"]).found_in("/export/\n/all") == [0]
    assert RegexSet(["^/export/.*/all$", "^/a.b$"]).found_in("/a\nb") == [1]
