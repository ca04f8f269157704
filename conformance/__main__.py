"""The suite's command: `python -m conformance` runs all cases against all limiters and prints one table."""

import argparse
import platform
import signal
import sys
import tempfile
import time
from pathlib import Path

from conformance import adapters, environments, judging, store, tables
from conformance.adapter import Adapter
from conformance.cases import CASES
from conformance.cases.case import Case
from conformance.running import PACKAGE, Sites

ENVIRONMENTS = Path(".venv-peers")
EVIDENCE = PACKAGE.parent / "docs" / "evidence" / "conformance.md"
FRONT = PACKAGE / "table.md"
ABOUT = """\
# Seven limiters, forty cases

Written by `make peers ARGS=--write`. Each limiter guards the same site, in an environment of its own and in the set-up that its
documentation recommends. Clients send requests as a browser, a program or an attacker would. A cell counts the cases that
were passed, of those that apply; *n/a* is never a pass. `conformance/README.md` says how a verdict is reached, and how to
contest one.
[The cases](#what-the-cases-say) were chosen by the authors of ratewindow, whose misses stand here beside all others.

{versions}.
"""


def main() -> None:
    options = _options()
    asked = tuple(case for case in CASES if case.id.startswith(tuple(options.case or [""])))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))  # so that the sites end with this process
    columns = [_column(name, asked, options) for name in options.limiter or adapters.NAMES]
    print(tables.by_group(columns), tables.by_case(columns) if options.cases else "", tables.misses(columns), sep="\n\n")
    if options.write:
        _write(columns, options)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="conformance", description=__doc__)
    parser.add_argument("--limiter", action="append", choices=adapters.NAMES, help="only this one; may be repeated")
    parser.add_argument("--case", action="append", help="only cases whose id begins so; may be repeated")
    parser.add_argument("--cases", action="store_true", help="also a row for each case")
    parser.add_argument("--write", action="store_true", help="write the tables into this checkout")
    parser.add_argument("--environments", type=Path, default=ENVIRONMENTS, help="where virtual environments are made")
    parser.add_argument("--here", action="store_true", help="in this Python, which has what the limiter needs")
    options = parser.parse_args()
    if options.write and (options.limiter or options.case):
        parser.error("--write writes the whole table: all limiters and all cases")
    return options


def _python(adapter: Adapter, options: argparse.Namespace) -> Path:
    return Path(sys.executable) if options.here else environments.python_of(adapter, options.environments.resolve())


def _column(name: str, asked: tuple[Case, ...], options: argparse.Namespace) -> tables.Column:
    adapter = adapters.find(name)
    python = _python(adapter, options)
    verdicts, begun = {}, time.monotonic()
    since = begun
    with tempfile.TemporaryDirectory(prefix="conformance-", ignore_cleanup_errors=True) as folder:
        for case, verdict in judging.judged(Sites(name, adapter, python, Path(folder)), adapter, asked):
            verdicts[case.id] = verdict
            print(f"{adapter.title}: {case.id}: {verdict.word} ({time.monotonic() - since:.1f} s)", file=sys.stderr)
            since = time.monotonic()
    print(f"{adapter.title}: {time.monotonic() - begun:.0f} s", file=sys.stderr)
    (version,) = environments.versions(python, adapter.distribution)
    in_order = {case.id: verdicts[case.id] for case in asked}
    return tables.Column(adapter.title, version, adapter.configuration, in_order)


def _write(columns: list[tables.Column], options: argparse.Namespace) -> None:
    python = _python(adapters.find(adapters.NAMES[0]), options)
    names = ("Django", "redis", "gunicorn", "uvicorn")
    told = ", ".join(f"{name} {version}" for name, version in zip(names, environments.versions(python, *names), strict=True))
    told = f"Python {platform.python_version()}, {store.version()}, {told}"
    sentences = "\n".join(f"* `{case.id}`: {case.sentence}" for case in CASES)
    parts = [
        ABOUT.format(versions=told),
        tables.by_group(columns),
        "## By case",
        tables.by_case(columns),
        "## What was observed",
        tables.misses(columns),
        "## What the cases say",
        sentences,
    ]
    EVIDENCE.write_text("\n\n".join(part.strip() for part in parts) + "\n", "utf-8")
    FRONT.write_text(tables.by_group(columns) + "\n", "utf-8")


if __name__ == "__main__":
    main()
