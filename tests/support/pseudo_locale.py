"""A language whose words are English in wide letters: what a page still says in narrow ones, no catalog can translate."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from typing import Any
from unittest import mock

from django.utils import translation

_WIDE = {ord(letter): ord(letter) + 0xFEE0 for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"}
_NARROW = {wide: narrow for narrow, wide in _WIDE.items()}
_FILLED = re.compile(r"(%\(\w+\)[-#0 +.\d]*[a-zA-Z]|%[-#0+.\d]*[a-zA-Z%]|\{[^{}]*\}|<[^>]*>|&\w+;)")


@contextmanager
def wide_letters() -> Iterator[None]:
    """Every message of a catalog, ours and Django's, has wide letters; what is filled into it stays as it is."""
    real = translation._trans
    spoken = {
        "gettext": wide,
        "pgettext": lambda context, message: wide(message),
        "ngettext": lambda singular, plural, number: wide(singular if number == 1 else plural),
        "npgettext": lambda context, singular, plural, number: wide(singular if number == 1 else plural),
    }
    for name in spoken:
        getattr(real, name)  # loads it, so that it can be put back
    with mock.patch.multiple(real, **spoken):
        yield


def wide(message: str) -> str:
    parts = _FILLED.split(str(message))
    return "".join(part if number % 2 else part.translate(_WIDE) for number, part in enumerate(parts))


def narrow(text: str) -> str:
    """As the source has it."""
    return text.translate(_NARROW)


class _Visible(HTMLParser):
    """The texts that a person meets on a page, with what a screen reader says; without code, scripts and styles."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self._hidden: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        given = dict(attrs)
        self.texts += [given[name] for name in ("aria-label", "title", "placeholder", "data-label") if given.get(name)]
        if tag == "input" and given.get("type") == "submit":
            self.texts.append(given.get("value") or "")
        if tag in ("script", "style", "code", "svg", "datalist", "textarea"):
            self._hidden.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if self._hidden and self._hidden[-1] == tag:
            self._hidden.pop()

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.texts.append(data)


def untranslated(html: str, data: re.Pattern[str]) -> list[str]:
    """The words of a page in narrow letters that are no `data`, each with its line."""
    page = _Visible()
    page.feed(html)
    found = {line.strip(): re.findall(r"[A-Za-z]{3,}", data.sub(" ", line)) for line in "\n".join(page.texts).splitlines()}
    return [f"{' '.join(words)}: {narrow(line)}" for line, words in found.items() if words]
