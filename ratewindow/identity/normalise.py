"""When two spellings are one client: exactly as sent, or the same but for case, form of letters and blanks."""

import unicodedata
from collections.abc import Callable

Normaliser = Callable[[str], str]
MOST_NORMALISED = 1024  # characters; composing letters of longer ones takes long, and no name or address is as long


def as_sent(text: str) -> str:
    return text


def normalised(text: str) -> str:
    """Blanks trimmed and collapsed, letters without case and in one form (NFKC): ``" Ann@Example.com"`` is
    ``"ann@example.com"``.

    What is longer than `MOST_NORMALISED` without its blanks keeps the form of its letters.
    """
    text = " ".join(text.split()).casefold()
    if text.isascii() or len(text) > MOST_NORMALISED:
        return text
    # Twice: the form may bring capitals forth, and these, without case, another form.
    text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return " ".join(text.split())
