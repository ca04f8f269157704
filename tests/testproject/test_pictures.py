"""The pictures of the admin: which there are, how large, and that the program that takes them still can."""

import re
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from testproject.pictures import CHECKOUT, CHROMIUM, FOLDER, PAGES, WIDTH

LARGEST_KB = 220


def size_of(picture: Path) -> tuple[int, int]:
    """Width and height, as the head of a PNG has them."""
    head = picture.read_bytes()[:24]
    assert head.startswith(b"\x89PNG")
    width, height = struct.unpack(">II", head[16:])
    return width, height


def check(folder: Path) -> None:
    assert {path.name for path in folder.glob("*.png")} == set(PAGES)
    for path in folder.glob("*.png"):
        width, height = size_of(path)
        assert width == WIDTH and 400 < height < 2000, path
        assert path.stat().st_size < LARGEST_KB * 1024, path


def test_the_committed_pictures_are_those_that_are_taken_and_are_small() -> None:
    check(FOLDER)


def test_each_picture_is_shown_in_a_document() -> None:
    shown = {
        Path(place).name
        for document in [CHECKOUT / "README.md", *(CHECKOUT / "docs").rglob("*.md")]
        for place in re.findall(r"!\[[^\]]+\]\((\S+\.png)\)", document.read_text())
    }
    assert shown == set(PAGES)


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.skipif(not CHROMIUM.exists(), reason=f"no {CHROMIUM} here: the pictures were not taken")
def test_the_program_takes_them_all_from_a_demo_of_its_own(tmp_path: Path) -> None:
    pytest.importorskip("playwright")
    command = [sys.executable, "-m", "testproject.pictures", "--folder", str(tmp_path)]
    taken = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True)
    assert taken.returncode == 0, taken.stdout + taken.stderr
    check(tmp_path)
