"""The pages of the documentation that messages of the package name."""

import re
from pathlib import Path

import ratewindow


def pages_of_messages() -> set[tuple[str, str]]:
    """Each with its anchor, or an empty one: modules have them as `page` takes them, such as ``developers/keys.md#addresses``."""
    texts = [path.read_text() for path in Path(ratewindow.__file__).parent.rglob("*.py")]
    return {each for text in texts for each in re.findall(r"[\"']([\w/]+\.md)(?:#([\w-]+))?[\"']", text)}
