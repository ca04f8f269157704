"""Paths of pages of the documentation for messages: in a checkout or in the installed package."""

from pathlib import Path


def page(name: str) -> str:
    packaged = Path(__file__).parents[1] / "docs" / name
    return str(packaged) if packaged.is_file() else f"docs/{name}"
