"""The worst strings as headers on the wire: no 500, nothing injected into answers and logs, whatever parses them."""

import pytest

from tests.serving.rawhttp import answers, connected
from tests.serving.servers import Served, new_address
from tests.support.worst_strings import WORST

pytestmark = pytest.mark.slow


def status(served: Served, name: str, text: str) -> int:
    """The answer to a request with this header, in which a line break would end it; 0 where the server hangs up."""
    sent = f"GET /keyed/ HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: {new_address()}\r\nConnection: close\r\n{name}: "
    with connected(served) as line:
        line.sendall(sent.encode() + text.encode("utf-8", "surrogatepass") + b"\r\n\r\n")
        told = answers(line, ["GET"])
    if not told:
        return 0
    assert not told[0].has("X-Evil"), repr(text)
    assert not any("evil" in value for _, value in told[0].headers), repr(text)
    return told[0].status


def test_each_is_answered_and_a_client_that_comes_again_is_refused(served: Served) -> None:
    passed, refused, unanswered = 0, 0, 0
    for text in WORST:
        first = status(served, "X-API-Key", text)
        assert first in (200, 429, 400, 431, 0), repr(text)  # what is no header at all the server refuses by itself
        again = status(served, "X-API-Key", text)
        if first == 200 and text.strip() and not _breaks(text):
            assert again == 429, repr(text)
        passed, refused = passed + (first == 200), refused + (again == 429)
        unanswered += first == 0
    assert passed > 350 and refused > 300, (passed, refused)
    assert unanswered < 30
    said = served.said()
    assert "Traceback" not in said
    assert "forged" not in said


def _breaks(text: str) -> bool:
    """Whether it is several lines on the wire, or the server trims it: then what comes first is the header's value."""
    return any(character in text for character in "\r\n") or text != text.strip()
