"""``python -m tests.faults``: what each fault costs a request, and when it is forgotten, as tables."""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.machine import described
from benchmarks.tables import table
from tests.faults.bounds import BACK_S, FAILING_MS, OPEN_MS, TRIES, Bounds, measure
from tests.faults.catalogue import FAULTS
from tests.faults.clusters import Met, kill_a_master, move_slots
from tests.faults.ground import KINDS, ground, template
from tests.serving.edits import editing, time_edits
from tests.serving.servers import CHECKOUT, place
from tests.support.servers import cluster_with_replicas

PAGE = CHECKOUT / "docs" / "evidence" / "faults.md"
TIMEOUT_MS, WAITED_MS = 100, 150  # the default, and what nobody waits longer than when Redis hangs
EDITS, OBEYED_S = 20, 1.5  # REFRESH and half a second
INTRODUCTION = f"""\
# What a fault costs

Written by `make faults ARGS=--write`. Each fault is done to a real server, or on the way to it, while a site with two
workers is under steady traffic of four clients. Times are the most that the limiter took of a request, in milliseconds.
*Failing* is the time from the fault until every worker's breaker is open, *open* the time from then until the fault is over.
*Back* is how long afterwards a request was still decided without Redis. Waiting for a processor is left out, except on an
event loop.

Promised: at most {FAILING_MS:g} ms more than usual while failing and {OPEN_MS:g} ms more while open, nobody asks Redis while
open, no request fails, back within {BACK_S:g} s. `TIMEOUT` is {TIMEOUT_MS} ms, the default. A fault that misses a time is
measured again, up to {TRIES} times in all.
"""


class Page:
    """What is printed as it is measured, and written at the end."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.missed = 0

    def add(self, part: str) -> None:
        self.parts.append(part + "\n")
        print(self.parts[-1], flush=True)

    def verdict(self, holds: bool) -> str:
        self.missed += not holds
        return "holds" if holds else "MISSED"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="FAULT", help=f"only these; without any, all: {', '.join(FAULTS)}")
    parser.add_argument("--write", action="store_true", help=f"put the tables into {PAGE.relative_to(CHECKOUT)}")
    options = parser.parse_args()
    if unknown := set(options.names) - set(FAULTS):
        parser.error(f"no fault {', '.join(sorted(unknown))}: choose from {', '.join(FAULTS)}")
    if options.write and options.names:
        parser.error("--write takes all faults: leave the names out")
    page = Page()
    page.add(INTRODUCTION)
    with tempfile.TemporaryDirectory(prefix="ratewindow-faults-") as folder:
        _faults(page, Path(folder), options.names or list(FAULTS))
        if not options.names:
            _clusters(page, Path(folder))
            _edits(page, Path(folder))
    if options.write:
        PAGE.write_text("\n".join(page.parts), encoding="utf-8")
    print(f"{page.missed} promises were not kept." if page.missed else "Every promise was kept.")
    return 1 if page.missed else 0


def _faults(page: Page, folder: Path, names: list[str]) -> None:
    measured = {kind: _measured(page, kind, folder, names) for kind in KINDS}
    page.add(f"## One server, behind {' and '.join(map(_named, KINDS))}")
    heading = ("fault", *(f"{_short(kind)}: failing" for kind in KINDS))
    page.add(table([heading, *map(_line, zip(*measured.values(), strict=True))]))
    for kind, bounds in measured.items():
        _verdicts(page, _short(kind), bounds)


def _measured(page: Page, kind: str, folder: Path, names: list[str]) -> list[Bounds]:
    with ground(folder, f"{TIMEOUT_MS}ms", 1, (kind,)) as site:
        if len(page.parts) == 1:
            with site.server.client() as client:
                page.add(described(client.info("server"), ("Django", "redis", "hiredis", "gunicorn", "uvicorn")))
        return measure(site, names)


def _line(servers: Sequence[Bounds]) -> list[str]:
    return [servers[0].fault, *(f"{each.failing.worst_ms:.1f}" for each in servers)]


def _verdicts(page: Page, server: str, bounds: list[Bounds]) -> None:
    missed = [each.fault for each in bounds if page.verdict(each.holds) == "MISSED"]
    usual = [each.usual.usual_ms for each in bounds]
    told = f"Behind {server} {len(bounds) - len(missed)} of {len(bounds)} hold"
    told += f", not {', '.join(missed)}" if missed else ""
    told += f": usual traffic took {min(usual):.1f} to {max(usual):.1f} ms, while open at most"
    open_ms, back_s = max(each.open.worst_ms for each in bounds), max(each.back_s for each in bounds)
    page.add(f"{told} {open_ms:.2f} ms, back within {back_s:.2f} s.")
    for each in bounds:
        if each.fault.startswith("hung"):
            waited = each.failing.worst_ms
            told = f"When Redis hangs, nobody waits longer than `TIMEOUT` and 50 ms: {waited:.0f} ms (at most {WAITED_MS})"
            page.add(f"{told}, {page.verdict(waited <= WAITED_MS)}.")


def _clusters(page: Page, folder: Path) -> None:
    about = "Three masters with a replica each, `cluster-node-timeout` 1,500 ms. Slots move from one master to another"
    page.add(f"## Cluster\n\n{about}; a third master is killed, and its replica takes over.")
    lines = []
    for kind in KINDS:
        with cluster_with_replicas() as cluster, place(template(folder)) as made:
            served = made.serve(kind, {"SERVED_TIMED": "1"}, REDIS=cluster.url, TIMEOUT=f"{TIMEOUT_MS}ms")
            moved, slots = move_slots(cluster, served)
            others, own = kill_a_master(cluster, served)
            lines.append(_met(page, kind, f"{slots} slots move", moved, not moved.failed and not moved.alone))
            lines.append(_met(page, kind, "a master killed: others' clients", others, not others.failed and not others.alone))
            lines.append(_met(page, kind, "its own clients", own, not own.failed))
    heading = ("server", "what", "requests", "failed", "without Redis", "for, s", "worst, ms", "")
    page.add(table([heading, *lines]))


def _met(page: Page, kind: str, what: str, met: Met, holds: bool) -> list[str]:
    figures = (met.requests, met.failed, met.alone)
    return [kind, what, *map(str, figures), f"{met.alone_s:.1f}", f"{met.worst_ms:.1f}", page.verdict(holds)]


def _edits(page: Page, folder: Path) -> None:
    with place(template(folder)) as made, editing(made) as editor:
        taken = time_edits([made.serve("preload"), made.serve("uvicorn")], editor, EDITS)
    within = sum(each <= OBEYED_S for each in taken)
    figures = f"The median was {sorted(taken)[EDITS // 2]:.2f} s, the slowest {max(taken):.2f} s"
    page.add("## Edits of a limit")
    page.add(
        f"Four workers of gunicorn and two of uvicorn, `REFRESH` 1 s: {within} of {EDITS} edits were obeyed by all six within "
        f"{OBEYED_S} s, {page.verdict(within == EDITS)}. {figures}."
    )


def _named(kind: str) -> str:
    return "gunicorn (gthread)" if kind == "gthread" else kind


def _short(kind: str) -> str:
    return _named(kind).partition(" ")[0]


if __name__ == "__main__":
    sys.exit(main())
