"""Normalisation of what clients send: none, or without regard to case, blanks and Unicode form."""

import unicodedata
from collections.abc import Callable

Normaliser = Callable[[str], str]
MOST_NORMALISED = 1024  # characters; NFKC of a longer text takes long, and no name or address is as long


def as_sent(text: str) -> str:
    return text


def normalised(text: str) -> str:
    """The text with blanks stripped and collapsed, case folded, in NFKC: ``" Ann@Example.com"`` is ``"ann@example.com"``.

    A text longer than `MOST_NORMALISED` characters keeps its Unicode form.
    """
    text = " ".join(text.split()).casefold()
    if text.isascii() or len(text) > MOST_NORMALISED:
        return text
    # Twice: NFKC may produce capitals, and folding these may leave the text in another form.
    text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return " ".join(text.split())
