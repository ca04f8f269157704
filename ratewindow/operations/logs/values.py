"""The values of a line, apart from its request line: who sent it, what was answered, and texts."""

import re

from ratewindow.operations.logs.entry import Unreadable
from ratewindow.operations.logs.request_line import unescaped

_LONGEST_CLIENT = 255
_NOBODY = ("", "-")
_QUOTES = ('"', "'")  # no client begins with one: the line is quoted in a way that its format does not say
_STATUSES = {"": 0, "-": 0, "000": 0} | {str(number): number for number in range(1000)}
_USUAL = re.compile(r"\d{1,3}+\.\d{1,3}+\.\d{1,3}+\.\d{1,3}+", re.ASCII)
_NO_TEXT = re.compile("[\0\ud800-\udfff]")


def address(client: str, forwarded: str = "") -> str:
    """The client, without a port, or the last of those that it was forwarded for. Raises Unreadable."""
    if _USUAL.fullmatch(client):
        return client
    client = clean((forwarded if client in _NOBODY else client).rpartition(",")[2].strip())
    if client.count(":") == 1:
        client = client.partition(":")[0]
    elif client[:1] == "[":
        client = client[1:].partition("]")[0]
    if client in _NOBODY or len(client) > _LONGEST_CLIENT or client[0] in _QUOTES:
        raise Unreadable("no client")
    return client


def status(text: str) -> int:
    """The status of the answer. Raises Unreadable."""
    found = _STATUSES.get(text)
    if found is None:
        raise Unreadable("no status: {text!r}", text=text[:40])
    return found


def readable(text: str) -> str:
    """A text in which the server has written quotes and odd bytes with backslashes."""
    return clean(unescaped(text)) if "\\" in text else clean(text)


def clean(text: str) -> str:
    """The text as people and databases can take it: what is no text, and the character 0, as the replacement character."""
    return text if text.isascii() and "\0" not in text else _NO_TEXT.sub("\ufffd", text)
