"""The plain text with which everything begins that an expression matches."""

import pytest

from ratewindow.rules.regex import literal_head


@pytest.mark.parametrize(
    ("regex", "head"),
    [
        ("^/api/", "/api/"),
        ("^/api/v[0-9]+/$", "/api/v"),
        (r"\.json$", ""),
        (r"\.json\Z", ""),
        (r"^/a\.b/\d$", "/a.b/"),
        ("^/ab?c/$", "/a"),
        ("^/ab+c", "/ab"),
        ("^/ab{2}c", "/a"),
        ("^/a|/b$", ""),
        ("^/(a|b)/c$", "/"),
        ("^/[|]x$", "/"),
        (r"^/\|x$", "/|x"),
        ("(?i)^/a", ""),
        (r"/cost\$", ""),
        ("/a/(?:x/)?b/$", ""),
        ("", ""),
    ],
)
def test_the_beginning_is_plain_text_alone(regex: str, head: str) -> None:
    assert literal_head(regex)[0] == head
