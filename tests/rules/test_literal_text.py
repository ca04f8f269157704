"""What every text begins and ends with that an expression matches."""

import re

import pytest

from ratewindow.rules.literal_text import ends_of_regex


@pytest.mark.parametrize(
    ("regex", "head", "tail"),
    [
        ("^/api/", "/api/", ""),
        ("^/api/v[0-9]+/$", "/api/v", "/"),
        (r"\.json$", "", ".json"),
        (r"\.json\Z", "", ".json"),
        (r"^/a\.b/\d$", "/a.b/", ""),
        ("^/ab?c/$", "/a", "c/"),
        ("^/ab+c", "/ab", ""),
        ("^/ab{2}c", "/a", ""),
        ("^/a|/b$", "", ""),
        ("^/(a|b)/c$", "/", "/c"),
        ("^/[|]x$", "/", "x"),
        (r"^/\|x$", "/|x", "/|x"),
        ("(?i)^/a", "", ""),
        (r"/cost\$", "", ""),
        ("/a/(?:x/)?b/$", "", "b/"),
        ("", "", ""),
    ],
)
def test_the_ends_are_plain_text_alone(regex: str, head: str, tail: str) -> None:
    found = ends_of_regex(regex)
    assert (found.head, found.tail) == (head, tail)


@pytest.mark.parametrize("regex", ["^/api/$", r"^/a\.b$", r"^\Z"])
def test_an_expression_that_is_plain_from_end_to_end_is_one_text(regex: str) -> None:
    found = ends_of_regex(regex)
    assert found.is_whole
    assert found.head == found.tail
    assert re.search(regex, found.head)


@pytest.mark.parametrize("regex", ["^/api/", "/api/$", "^/a+$", "^/a$|^/b$"])
def test_any_other_one_is_several(regex: str) -> None:
    assert not ends_of_regex(regex).is_whole
