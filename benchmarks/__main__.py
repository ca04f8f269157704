"""``python -m benchmarks``: measure, and print the tables; ``--write`` also puts them into the documentation."""

import argparse
import contextlib
import sys
import tempfile
from pathlib import Path

import redis

from benchmarks import core, site
from benchmarks.tables import Section, summary
from testproject.redis_server import redis_server

PAGE = Path(__file__).resolve().parent.parent / "docs" / "evidence" / "benchmarks.md"
INTRODUCTION = """\
# What a decision costs

Written by `make bench ARGS=--write`. All contestants take turns, round after round, with client and server on one
core. A ratio is the median of each round against the floor in the same round, so it holds on other machines, where a
time does not. A bar is what was aimed at; one that is missed fails nothing.
"""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("bars", nargs="*", metavar="BAR", help="only these; without any, all of them")
    parser.add_argument("--write", action="store_true", help="put the tables and pictures of all bars into docs/evidence")
    options = parser.parse_args()
    if options.write and options.bars:
        parser.error("--write takes all bars: leave the others out")
    core.share_one()
    with contextlib.ExitStack() as stack:
        url = stack.enter_context(redis_server())
        client = stack.enter_context(redis.Redis.from_url(url))
        if client.dbsize():
            parser.error(f"{url} is not empty, and a run empties it: name another database in RATEWINDOW_REDIS_URL")
        try:
            client.info("server")
        except redis.ResponseError:
            parser.error(f"{url} does not tell what it is and uses: a real Redis or Valkey is needed")
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
    print(f"{described()}\n")
    sections = []
    for name in names or BARS:
        sections.append(BARS[name]())
        print(sections[-1].markdown(), flush=True)
    print(summary(sections))
    if write:
        _write([INTRODUCTION, f"{described()}\n", summary(sections)], sections)
    return 0


def _write(parts: list[str], sections: list[Section]) -> None:
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    for section in sections:
        if not section.is_printed:
            parts.append(section.page())
        if section.picture:
            section.picture.write(PAGE.parent)
    PAGE.write_text("\n".join(parts), encoding="utf-8")
    print(f"written to {PAGE.relative_to(Path.cwd()) if PAGE.is_relative_to(Path.cwd()) else PAGE.name}")


if __name__ == "__main__":
    sys.exit(main())
