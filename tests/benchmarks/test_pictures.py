"""The pictures in the documentation are what the engine does today."""

from pathlib import Path

import pytest

from benchmarks.pictures.edge import LIMIT, WINDOWS, story
from benchmarks.pictures.svg import drawn

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "pictures"


@pytest.mark.parametrize("name", WINDOWS)
def test_a_picture_is_as_the_engine_would_draw_it_now(name: str) -> None:
    told = story(WINDOWS[name])
    again = "run python -m benchmarks.pictures, and read what docs/developers/algorithms.md says beside it"
    assert FOLDER.joinpath(f"edge-{name}.svg").read_text("utf-8") == drawn(WINDOWS[name].algorithm, told), again


def test_the_exact_ones_never_pass_the_limit() -> None:
    assert [story(WINDOWS[name]).most for name in ("sliding-window", "sliding-log")] == [LIMIT, LIMIT]
