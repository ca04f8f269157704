"""Delete rooms from a copy of the checkout, and see that the rest works without them.

Each room in turn: ``manage.py check`` and ``makemigrations --check``. Then all rooms at once: the core's fast tests, too.
With ``--tests`` these also run without each single room, which takes minutes for each.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
FOLDERS = ("ratewindow/contrib", "tests/contrib", "docs/contrib")
ENDS = ("/", ".md", "_operators.md")
MARKS = "not slow and not long and not conformance and not browser"
ABOUT_NO_ROOM = ("project", "benchmarks", "limiter")  # folders of tests; the limiter knows nothing of the rest
FAST = ("-q", "-n", "auto", "--dist", "loadfile", "-m", MARKS, *(f"--ignore=tests/{folder}" for folder in ABOUT_NO_ROOM))
FIRST_TWO = (("manage.py", "check"), ("manage.py", "makemigrations", "--check", "--dry-run"))


def main() -> None:
    rooms = sorted(path.parent.name for path in CHECKOUT.glob("ratewindow/contrib/*/apps.py"))
    each_tested = "--tests" in sys.argv
    with tempfile.TemporaryDirectory(prefix="ratewindow-without-") as folder:
        copy, away = Path(folder) / "checkout", Path(folder) / "away"
        names = copied_to(copy)
        for room in rooms:
            try_without([room], copy, away, names, with_tests=each_tested)
        try_without(rooms, copy, away, names, with_tests=True)


def copied_to(copy: Path) -> list[str]:
    """The names of the files that belong to the checkout, which are in the copy now."""
    tracked = run(CHECKOUT, "git", "ls-files", "-z", capture_output=True).stdout.decode().split("\0")
    names = [name for name in tracked if name and (CHECKOUT / name).is_file()]
    for name in names:
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(CHECKOUT / name, copy / name)
    return names


def try_without(rooms: list[str], copy: Path, away: Path, names: list[str], *, with_tests: bool) -> None:
    """Without these rooms in the copy, to which they come back afterwards: what Python has compiled of the rest is kept."""
    print(f"\n=== without {', '.join(rooms)}", flush=True)
    gone = [name for name in names if belongs_to(name, rooms)]
    move(gone, copy, away)
    for room in rooms:
        for folder in FOLDERS:
            shutil.rmtree(copy / folder / room, ignore_errors=True)  # with what Python has compiled
    for command in FIRST_TWO:
        run(copy, sys.executable, *command)
    if with_tests:
        suites = [f"--ignore={path.parent.relative_to(copy)}" for path in copy.glob("tests/*/README.md")]
        run(copy, sys.executable, "-m", "pytest", *FAST, *suites)
    move(gone, away, copy)


def move(names: list[str], source: Path, target: Path) -> None:
    for name in names:
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).rename(target / name)


def belongs_to(name: str, rooms: list[str]) -> bool:
    """Whether the file is in a folder of one of the rooms, or one of its pages of documents."""
    return name.startswith(tuple(f"{folder}/{room}{end}" for folder in FOLDERS for room in rooms for end in ENDS))


def run(folder: Path, *command: str, **options: bool) -> "subprocess.CompletedProcess[bytes]":
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    return subprocess.run(command, cwd=folder, env=environment, check=True, **options)  # type: ignore[call-overload,no-any-return]


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as error:
        sys.exit(f"{' '.join(map(str, error.cmd))} failed without these rooms")
