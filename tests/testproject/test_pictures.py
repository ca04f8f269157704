"""The pictures of the admin: which there are, and how large."""

import re
import struct
from pathlib import Path

from testproject.pictures import CHECKOUT, FOLDER, PAGES, WIDTH

LARGEST_KB = 220


def size_of(picture: Path) -> tuple[int, int]:
    """Width and height, as the head of a PNG has them."""
    head = picture.read_bytes()[:24]
    assert head.startswith(b"\x89PNG")
    width, height = struct.unpack(">II", head[16:])
    return width, height


def test_the_committed_pictures_are_those_that_are_taken_and_are_small() -> None:
    assert {path.name for path in FOLDER.glob("*.png")} == set(PAGES)
    for path in FOLDER.glob("*.png"):
        width, height = size_of(path)
        assert width == WIDTH and 400 < height < 2000, path
        assert path.stat().st_size < LARGEST_KB * 1024, path


def test_each_picture_is_shown_in_a_document() -> None:
    shown = {
        Path(place).name
        for document in [CHECKOUT / "README.md", *(CHECKOUT / "docs").rglob("*.md")]
        for place in re.findall(r"!\[[^\]]+\]\((\S+\.png)\)", document.read_text())
    }
    assert shown == set(PAGES)
