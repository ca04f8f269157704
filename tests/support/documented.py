"""The files that a page of the documentation shows, as code to be tried: each block begins with its path in a comment."""

from pathlib import Path
from types import ModuleType
from typing import Any

from tests.support.blocks import blocks_of


def file(page: str, path: str) -> str:
    """The text of the block that begins with this path."""
    (found,) = (block.code for block in blocks_of(f"docs/{page}") if path in block.code.partition("\n")[0])
    return found


def module(page: str, path: str) -> Any:
    """The block, executed as a module."""
    made = ModuleType(Path(path).stem)
    exec(compile(file(page, path), f"{page}: {path}", "exec"), vars(made))
    return made
