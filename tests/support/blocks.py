"""The blocks of code in the documents, as they stand there, with the marks of those that nothing runs."""

import re
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

CHECKOUT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    str(path.relative_to(CHECKOUT))
    for place in ("*.md", "docs/**/*.md", "lua/*.md", "conformance/*.md")
    for path in CHECKOUT.glob(place)
    if path.name != "CHANGELOG.md"  # which may speak of what an older version had
)
MARK = re.compile(r"<!-- *not run\b:? *(.*?) *-->")
_FENCE = re.compile(r"^( *)(`{3,})([^\s`]*)[^`\n]*\n(.*?)^\1\2 *$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A block between two fences, and the line of the first; `mark` is the reason why nothing runs it."""

    page: str
    line: int
    language: str
    code: str
    mark: str | None

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def blocks_of(page: str) -> list[Block]:
    return blocks_in((CHECKOUT / page).read_text(encoding="utf-8"), page)


def blocks_in(text: str, page: str) -> list[Block]:
    found = []
    for fence in _FENCE.finditer(text):
        before = text[: fence.start()]
        above = MARK.fullmatch(before.rstrip("\n").rpartition("\n")[2].strip()) if before.endswith("-->\n") else None
        line = before.count("\n") + 1
        found.append(Block(page, line, fence[3], dedent(fence[4]), above and above[1]))
    return found


def without_blocks(text: str) -> str:
    return _FENCE.sub("", text)


def without_code(text: str) -> str:
    """The prose: what stands in a block, or between backticks, is no link, no heading and no mark."""
    return re.sub(r"`[^`\n]*`", "", without_blocks(text))
