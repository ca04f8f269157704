"""Where a page of the documentation lies, for messages that name one: in a checkout, or within the installed package."""

from pathlib import Path


def page(name: str) -> str:
    packaged = Path(__file__).parents[1] / "docs" / name
    return str(packaged) if packaged.is_file() else f"docs/{name}"
