"""What is wrong with a value that somebody wrote, and other texts that pages translate."""

from typing import Any


class Problem(ValueError):
    """What is wrong, and what to write instead; the text in English, ``str`` of it complete.

    `message` has the names of `values` in braces, as `str.format` reads them, so that a page can say it in another language.
    """

    def __init__(self, message: str, **values: Any) -> None:
        super().__init__(message.format(**values) if values else message)  # one that was pickled begins with its whole text
        self.message, self.values = message, values


class Translatable(str):
    """A text in English, also as a value of a `Problem`, that pages translate."""


def translatable(text: str) -> Translatable:
    """The text itself, which `make messages` finds."""
    return Translatable(text)
