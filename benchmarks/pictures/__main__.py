"""``python -m benchmarks.pictures``: draw docs/pictures anew, from what the engine does; the same on every machine."""

from pathlib import Path

from benchmarks.pictures.edge import WINDOWS, story
from benchmarks.pictures.svg import drawn

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "pictures"


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, window in WINDOWS.items():
        told = story(window)
        FOLDER.joinpath(f"edge-{name}.svg").write_text(drawn(window.algorithm, told), encoding="utf-8")
        print(f"docs/pictures/edge-{name}.svg: at most {told.most} in any minute")


if __name__ == "__main__":
    main()
