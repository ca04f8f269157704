"""Mentions of a client in sentences that people have written, in whatever spelling: capitals, wide letters, other addresses."""

import re
import unicodedata
from collections.abc import Iterable, Iterator

from ratewindow.identity.normalise import normalised
from ratewindow.operations.subject.spellings import spelled

ERASED = "[erased]"
Span = tuple[int, int]

_IPV4 = re.compile(r"(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?!\d|\.\d)")
_IPV6 = re.compile(r"(?<![0-9a-f:.])[0-9a-f:.]+")  # or what looks like one, with what stands before and after it
_LENGTH = re.compile(r"(/\d{1,3})?")
_FEWEST_COLONS = 6  # of an IPv6 address without ``::``


class Mentions:
    """Of any of these texts, and, if `address` is one client as `spelled` writes it, of its addresses."""

    def __init__(self, texts: Iterable[str], address: str = "") -> None:
        folded = {"".join(piece for piece, _ in _folded(text.strip())) for text in texts}
        self._texts = re.compile("|".join(map(_alone, sorted(folded, key=len, reverse=True))))
        self._address = address

    def are_in(self, sentence: str) -> bool:
        return any(True for _ in self._spans(sentence))

    def erased_from(self, sentence: str) -> str:
        kept, at = "", 0
        for begin, end in sorted(self._spans(sentence)):
            if begin >= at:
                kept += sentence[at:begin] + ERASED
            at = max(at, end)
        return kept + sentence[at:]

    def _spans(self, sentence: str) -> Iterator[Span]:
        if sentence.isascii():  # as nearly all are, of a million edits
            yield from self._spans_of_folded(sentence.lower())
            return
        pieces = _folded(sentence)
        places = [span for piece, span in pieces for _ in piece]
        for begin, end in self._spans_of_folded("".join(piece for piece, _ in pieces)):
            yield places[begin][0], places[end - 1][1]

    def _spans_of_folded(self, text: str) -> Iterator[Span]:
        yield from (found.span() for found in self._texts.finditer(text))
        if self._address:
            for begin, end in _addresses(text):
                with_length = _LENGTH.match(text, end).end()  # type: ignore[union-attr]  # it matches nothing, too
                if spelled(f"ip:{text[begin:with_length]}") == self._address:
                    yield begin, with_length


def _alone(text: str) -> str:
    """A pattern of the text where it is no part of a longer address or name."""
    before, after = ("", "") if "@" in text else (":", ":")  # mailto:ann@example.com, and no address with one number more
    return rf"(?<![\w.#{before}-]){re.escape(text)}(?!\w|[.{after}-]\w)"


def _addresses(text: str) -> Iterator[Span]:
    """Where addresses may be, with less before and after it if a sentence or a name with a colon surrounds one."""
    yield from (found.span() for found in _IPV4.finditer(text))
    for found in _IPV6.finditer(text):
        run = found[0]
        if "::" in run or run.count(":") >= _FEWEST_COLONS:
            begins = (found.start(), found.start() + run.find(":") + 1)
            yield from ((begin, end) for begin in begins for end in (found.end(), found.end() - 1))


def _folded(text: str) -> list[tuple[str, Span]]:
    """The text as `normalised` writes it in pieces, each with its place: a letter with its accents, or a blank."""
    begins = [place for place, letter in enumerate(text) if not place or not unicodedata.combining(letter)]
    spans = zip(begins, [*begins[1:], len(text)], strict=True)
    return [(normalised(text[begin:end]) or " ", (begin, end)) for begin, end in spans]
