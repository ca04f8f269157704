"""The examples on the pages of docs/migration, run as they stand there; and callers that come together."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.support.blocks import blocks_in

PAGES = Path(__file__).resolve().parents[2] / "docs" / "migration"


def example(page: str, heading: str, number: int, **given: Any) -> dict[str, Any]:
    """What the block of this number below a heading defines, if it finds these names."""
    text = (PAGES / page).read_text(encoding="utf-8")
    [section] = re.findall(rf"^#+ {re.escape(heading)}\n(.*?)(?=^##|\Z)", text, re.DOTALL | re.MULTILINE)
    blocks = [block.code for block in blocks_in(section, page) if block.language == "python"]
    names = {"__name__": "shop.limits", **given}
    exec(blocks[number], names)
    return names


class ReadTogether:
    """A reading call after which the next of so many callers begins, before the first goes on: all read, then all write."""

    def __init__(self, read: Callable[..., Any], more: int) -> None:
        self.read, self.more, self.answers = read, more, list[Any]()
        self.begin: Callable[[], Any] = lambda: None

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        found = self.read(*arguments, **options)
        if self.more:
            self.more -= 1
            self.answers.append(self.begin())
        return found

    def run(self, begin: Callable[[], Any]) -> list[Any]:
        """What each of the callers is answered."""
        self.begin = begin
        first = begin()
        return [*self.answers, first]
