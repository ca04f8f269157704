"""``python -m tests.faults``: what each fault costs a request, and when it is forgotten, as tables."""

import argparse
import sys
import tempfile
from collections.abc import Iterator
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

PAGE = CHECKOUT / "docs" / "operators" / "faults.md"
TIMEOUT_MS, WAITED_MS = 100, 150  # the default, and what nobody waits longer than when Redis hangs
EDITS, OBEYED_S = 20, 1.5  # REFRESH and half a second
INTRODUCTION = f"""\
# What a fault costs

Written by `make faults ARGS=--write`. Each fault is done to a real server, or on the way to it, while a site is under
steady traffic: four clients, two workers. Times are those that the gate takes of a request, by a clock inside it, in
milliseconds: the median of *usual* traffic before the fault, and the *worst* of it; the worst while *failing*, from the
fault until every worker's breaker is open; the worst while *open*, from then until the fault is over. What a thread that
was ready waited for a processor is left out, since other programs ran on the machine, too; but for decisions of an
event loop that wait for Redis, which cannot be told apart from it.
*Asked* are decisions that went to Redis while it was known to be away. *Back* is how long after the end of the fault a
request was still decided without Redis.

Promised: at most {FAILING_MS:g} ms more than usual while failing and {OPEN_MS:g} ms more while open, nobody asked while open, no
request failed, back within {BACK_S:g} s. `TIMEOUT` is {TIMEOUT_MS} ms, the default. Where a time is missed the fault is measured
again, up to {TRIES} times in all (*tries*), since one pause of a busy machine is enough for that; the last one is shown.
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
        for kind in KINDS:
            _faults(page, kind, Path(folder), options.names or list(FAULTS))
        if not options.names:
            _clusters(page, Path(folder))
            _edits(page, Path(folder))
    if options.write:
        PAGE.write_text("\n".join(page.parts), encoding="utf-8")
    print(f"{page.missed} promises were not kept." if page.missed else "Every promise was kept.")
    return 1 if page.missed else 0


def _faults(page: Page, kind: str, folder: Path, names: list[str]) -> None:
    with ground(folder, f"{TIMEOUT_MS}ms", 1, (kind,)) as site:
        if len(page.parts) == 1:
            with site.server.client() as client:
                page.add(described(client.info("server"), ("Django", "redis", "hiredis", "gunicorn", "uvicorn")))
        measured = measure(site, names)
    page.add(f"## One server, behind {_named(kind)}")
    heading = ("fault", "usual, ms", "worst", "failing", "requests", "open", "requests", "asked", "back, s", "tries", "")
    page.add(table([heading, *([*_line(each), page.verdict(each.holds)] for each in measured)]))
    for each in measured:
        if each.fault.startswith("hung"):
            waited = each.failing.worst_ms
            told = f"When Redis hangs, nobody waits longer than `TIMEOUT` and 50 ms: {waited:.0f} ms (at most {WAITED_MS})"
            page.add(f"{told}, {page.verdict(waited <= WAITED_MS)}.")


def _line(each: Bounds) -> Iterator[str]:
    yield each.fault
    yield from (f"{each.usual.usual_ms:.1f}", f"{each.usual.worst_ms:.1f}")
    yield from (f"{each.failing.worst_ms:.1f}", str(len(each.failing.samples)))
    yield from (f"{each.open.worst_ms:.2f}", str(len(each.open.samples)))
    yield from (str(each.asked), f"{each.back_s:.2f}", str(each.tries))


def _clusters(page: Page, folder: Path) -> None:
    about = (
        "Three masters with a replica each, `cluster-node-timeout` 1,500 ms. Slots of one master that have keys move to another"
    )
    page.add(f"## Cluster\n\n{about}; a third one is killed, and its replica takes over.")
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
    figures = f"the median {sorted(taken)[EDITS // 2]:.2f} s, the slowest {max(taken):.2f} s"
    page.add("## Edits of a limit")
    page.add(
        f"Four workers of gunicorn and two of uvicorn, `REFRESH` 1 s: {within} of {EDITS} edits were obeyed by all six within "
        f"{OBEYED_S} s, {page.verdict(within == EDITS)}; {figures}."
    )


def _named(kind: str) -> str:
    return "gunicorn (gthread)" if kind == "gthread" else kind


if __name__ == "__main__":
    sys.exit(main())
