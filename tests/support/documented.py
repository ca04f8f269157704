"""The files that a page of the documentation shows, as code to be tried: each block begins with its path in a comment."""

import re
from pathlib import Path
from types import ModuleType
from typing import Any

DOCS = Path(__file__).resolve().parents[2] / "docs"


def file(page: str, path: str) -> str:
    """The text of the block that begins with this path."""
    blocks = re.findall(r"^```\w+\n(.*?)^```$", (DOCS / page).read_text(), flags=re.DOTALL | re.MULTILINE)
    (found,) = (block for block in blocks if path in block.partition("\n")[0])
    return found


def module(page: str, path: str) -> Any:
    """The block, executed as a module."""
    made = ModuleType(Path(path).stem)
    exec(compile(file(page, path), f"{page}: {path}", "exec"), vars(made))
    return made
