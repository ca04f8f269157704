"""``python -m benchmarks``: measure, and print the tables; ``--write`` also puts them into the documentation."""

import argparse
import contextlib
import sys
import tempfile
from pathlib import Path

import redis

from benchmarks import site
from testproject.redis_server import redis_server

PAGE = Path(__file__).resolve().parent.parent / "docs" / "benchmarks" / "README.md"
INTRODUCTION = """\
# What a decision costs

Written by `make bench ARGS=--write`. Within one run everybody takes turns, round after round, so a ratio holds
on other machines where a time does not: it is the median of each round against the floor's turn in the same
round. A bar that is missed is shown, it fails nothing: a busy machine is no mistake in the code.
"""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("bars", nargs="*", metavar="BAR", help="only these; without any, all of them")
    parser.add_argument("--write", action="store_true", help="put the tables of all bars into docs/benchmarks/README.md")
    options = parser.parse_args()
    if options.write and options.bars:
        parser.error("--write takes all bars: leave the others out")
    with contextlib.ExitStack() as stack:
        url = stack.enter_context(redis_server())
        client = stack.enter_context(redis.Redis.from_url(url))
        if client.dbsize():
            parser.error(f"{url} is not empty, and a run empties it: name another database in RATEWINDOW_REDIS_URL")
        stack.callback(client.flushdb)
        site.set_up(url, Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="ratewindow-bench-"))))
        stack.callback(site.tear_down)
        return _run(options.bars, options.write)


def _run(names: list[str], write: bool) -> int:
    from benchmarks.bars import BARS  # needs the settings
    from benchmarks.machine import described

    if unknown := set(names) - set(BARS):
        print(f"no bar {', '.join(sorted(unknown))}: choose from {', '.join(BARS)}", file=sys.stderr)
        return 2
    page = [INTRODUCTION, described() + "\n"]
    print(page[1])
    for name in names or BARS:
        page.append(BARS[name]().markdown())
        print(page[-1], flush=True)
    if write:
        PAGE.parent.mkdir(parents=True, exist_ok=True)
        PAGE.write_text("\n".join(page), encoding="utf-8")
        print(f"written to {PAGE.relative_to(Path.cwd()) if PAGE.is_relative_to(Path.cwd()) else PAGE.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
