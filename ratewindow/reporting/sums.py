"""What is counted of one rule in one span of time, as a value that can be added, compared and sent."""

from typing import NamedTuple


class Sums(NamedTuple):
    """A request counts once in passed, refused or other; the last two say more about one already counted."""

    passed: int = 0
    refused: int = 0
    other: int = 0  # refused by another rule
    would_refuse: int = 0  # passed, but an enforced rule would have refused
    fallback: int = 0  # decided without the store

    @property
    def met(self) -> int:
        """How many requests met the rule."""
        return self.passed + self.refused + self.other

    def plus(self, more: "Sums") -> "Sums":
        return Sums(*(a + b for a, b in zip(self, more, strict=True)))

    def at_least(self, known: "Sums") -> "Sums":
        """The larger of two reports of the same requests, number by number."""
        return Sums(*(max(a, b) for a, b in zip(self, known, strict=True)))

    def to_text(self) -> str:
        return ",".join(map(str, self))


NOTHING = Sums()


def from_text(text: str) -> Sums | None:
    """What `to_text` wrote; None for anything else, which another program must have left there."""
    parts = text.split(",")
    if len(parts) != len(NOTHING) or not all(part.isascii() and part.isdigit() for part in parts):
        return None
    return Sums(*map(int, parts))
