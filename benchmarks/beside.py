"""``python -m benchmarks.beside COMMIT``: requests through this checkout and through another commit, in turns, as ratios.

Both sides run in one environment, on one server and one core, and take turns round after round. Exit status 1 if a case
takes more than its bar: ``--at-most 1.03`` for all of them, ``--at-most 'five windows=0.9'`` for one.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks import core
from benchmarks.tables import table
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
    with tempfile.TemporaryDirectory(prefix="ratewindow-beside-") as folder, redis_server() as url:
        other = Path(folder) / "other"
        git = ["git", "-C", str(CHECKOUT), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", str(other), options.commit], check=True)
        sides = [Side(checkout, f"{url.rstrip('0123456789')}{number}") for number, checkout in enumerate((other, CHECKOUT))]
        try:
            lines = [_measured(case, sides, options.rounds, bars[case]) for case in CASES]
        finally:
            for side in sides:
                side.end()
            subprocess.run([*git, "remove", "--force", str(other)], check=True)
    print(table([("", f"{options.commit}, µs", "here, µs", "ratio", "bar"), *lines]))
    return int(any(line[-1].endswith("MISSED") for line in lines))


def _bars(given: Sequence[str]) -> dict[str, float]:
    bars = dict.fromkeys(CASES, 1.03)
    for text in given:
        names, _, ratio = text.rpartition("=")
        bars |= {case: float(ratio) for case in CASES if case.startswith(names)}
    return bars


def _measured(case: str, sides: Sequence[Side], rounds: int, at_most: float) -> tuple[str, ...]:
    for side in sides:
        side.us(case, WARM_UP)
    turns = [[side.us(case, REQUESTS) for side in (sides if number % 2 else sides[::-1])] for number in range(rounds)]
    pairs = [turn if number % 2 else turn[::-1] for number, turn in enumerate(turns)]
    ratio = statistics.median(here / there for there, here in pairs)
    medians = [f"{statistics.median(times):.1f}" for times in zip(*pairs, strict=True)]
    bar = f"at most {at_most:g} x: {'holds' if ratio <= at_most else 'MISSED'}"
    return case, *medians, f"{ratio:.3f} x", bar


if __name__ == "__main__":
    sys.exit(main())
