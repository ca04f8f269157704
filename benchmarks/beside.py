"""``python -m benchmarks.beside COMMIT``: requests through this checkout and through another commit, in turns, as ratios.

Both sides run in one environment, on one server and one core, and take turns round after round. Exit status 1 if a case
takes more than its bar: ``--at-most 1.03`` for all of them, ``--at-most 'five windows=0.9'`` for one.
"""

import argparse
import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from benchmarks import core
from benchmarks.tables import TIMES, Timed, table
from benchmarks.timing import in_turns
from testproject.redis_server import redis_server

CHECKOUT = Path(__file__).resolve().parent.parent
CASES = ("view, middleware", "view, decorator", "refused, middleware", "refused, decorator", "five windows", "no rule")
WARM_UP, REQUESTS = 300, 400


class Side:
    """A process that measures one checkout."""

    def __init__(self, checkout: Path, url: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(CHECKOUT / "benchmarks" / "side.py"), str(checkout), url],
            cwd=checkout,
            env={**os.environ, "PYTHONPATH": str(checkout)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def us(self, case: str, requests: int) -> float:
        """Microseconds of one request."""
        assert self._process.stdin and self._process.stdout
        print(case, requests, file=self._process.stdin, flush=True)
        return float(self._process.stdout.readline())

    def end(self) -> None:
        self._process.kill()
        self._process.wait()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.beside", description=__doc__)
    parser.add_argument("commit", help="what git knows it by")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--at-most", action="append", default=[], metavar="[CASE=]RATIO", help="a bar; 1.03 for all")
    options = parser.parse_args()
    bars = _bars(options.at_most)
    core.share_one()
    with redis_server() as url:
        rows = measured(options.commit, url, options.rounds, bars)
    print(table([(*TIMES, f"{options.commit}, µs"), *(row.line() for row in rows)]))
    return int(not all(row.holds for row in rows))


def measured(commit: str, url: str, rounds: int, bars: Mapping[str, float]) -> list[Timed]:
    """A row for each case: its times here, their ratio to those of the commit, and its bar.

    Each side has a database of its own on the server at `url`. CalledProcessError if git does not know the commit.
    """
    with tempfile.TemporaryDirectory(prefix="ratewindow-beside-") as folder, contextlib.ExitStack() as stack:
        other = Path(folder) / "other"
        git = ["git", "-C", str(CHECKOUT), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", str(other), commit], check=True, capture_output=True)
        stack.callback(subprocess.run, [*git, "remove", "--force", str(other)], check=True)
        sides = [Side(checkout, f"{url.rstrip('0123456789')}{number}") for number, checkout in enumerate((other, CHECKOUT), 1)]
        for side in sides:
            stack.callback(side.end)
        return [_row(case, sides, rounds, bars[case]) for case in CASES]


def _bars(given: Sequence[str]) -> dict[str, float]:
    bars = dict.fromkeys(CASES, 1.03)
    for text in given:
        names, _, ratio = text.rpartition("=")
        bars |= {case: float(ratio) for case in CASES if case.startswith(names)}
    return bars


def _row(case: str, sides: Sequence[Side], rounds: int, at_most: float) -> Timed:
    for side in sides:
        side.us(case, WARM_UP)
    there, here = (partial(side.us, case, REQUESTS) for side in sides)
    times = in_turns({"there": there, "here": here}, rounds)
    return Timed(case, (f"{times['there'].median_us:.1f}",), at_most, times["here"], times["there"])


if __name__ == "__main__":
    sys.exit(main())
