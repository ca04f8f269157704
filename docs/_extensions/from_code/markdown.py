"""Text of the code as Markdown, also in a cell of a table."""

import re
from collections.abc import Iterable


def plain(text: str) -> str:
    """Nothing in it is a sign of Markdown."""
    return re.sub(r"([\\`*_<>|\[\]#])", r"\\\1", " ".join(text.split()))


def code(text: str) -> str:
    return "`" + text.replace("|", r"\|") + "`"


def table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    heads = [*heads]
    return "\n".join(f"| {' | '.join(row)} |" for row in (heads, ["---"] * len(heads), *rows))
