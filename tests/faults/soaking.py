"""``python -m tests.faults.soaking``: ten minutes of traffic and faults, and a table of what was promised and seen."""

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import NamedTuple

from benchmarks.machine import described as machine_described
from benchmarks.tables import table
from tests.faults.catalogue import FAULTS
from tests.faults.ground import Ground, ground
from tests.faults.soak import LIMIT, PERIOD_S, Soaked, soak
from tests.serving.servers import CHECKOUT

PAGE = CHECKOUT / "docs" / "evidence" / "soak.md"
TIMEOUT = "500ms"  # so long that other programs on the machine make no fault of their own
EVERY_S, HOLD_S = 20.0, (2.0, 5.0)
BACK_S, GROWTH_MB = 2.0, 2
THREADS, HOUSEKEEPING = 4, 5  # of a worker: three threads beside the requests, two of them with a patient client, too
INTRODUCTION = """\
# Minutes of mixed traffic, and a fault every few seconds

Written by `make soak ARGS=--write`. Eight clients ask gunicorn and uvicorn (two workers each) as fast as they are
answered. They ask for pages with a limit of 10 in 2 s and for pages with hardly any. There are pages with each choice for *while
Redis is unavailable* (allow, local, refuse). Every 20 seconds something happens to Redis, the way to it, the database, the rules
or a worker, in an order that a seed decides.
"""


def connections_allowed(site: Ground) -> int:
    """As docs/operators/sizing.md says: for each thread that decides, or each event loop, and for housekeeping."""
    return sum(served.workers_wanted * ((1 if served.is_asgi else THREADS) + HOUSEKEEPING) for served in site.served)


def growth_kb(told: Soaked) -> dict[tuple[str, int], int]:
    """By how much each worker that saw half of the run has grown, from the second quarter of what it saw to the last."""
    grown = {}
    for worker, seen in told.resident_kb.items():
        quarter = len(seen) // 4
        if quarter and len(seen) >= len(told.rounds) // 2:
            grown[worker] = int(median(seen[-quarter:]) - median(seen[quarter : 2 * quarter]))
    return grown


class Bar(NamedTuple):
    promise: str
    seen: str
    holds: bool


def bars(told: Soaked, site: Ground) -> list[Bar]:
    failed = len(told.errors) + len(told.unanswered)
    most, windows = told.most_admitted()
    slowest = max(told.rounds, key=lambda each: each.recovery_s)
    grown_mb = max(growth_kb(told).values(), default=0) / 1024
    strays = len(told.strays)
    return [
        Bar("no 500, and no request without an answer", f"{failed} of {len(told.samples):,} requests", failed == 0),
        Bar(
            f"no client admitted more than {LIMIT} in {PERIOD_S:g} s",
            f"at most {most}, in {windows:,} periods in which nothing happened",
            0 < most <= LIMIT,
        ),
        Bar(
            f"back to normal within {BACK_S:g} s",
            f"the slowest took {slowest.recovery_s:.2f} s: {slowest.name}",
            slowest.recovery_s <= BACK_S,
        ),
        Bar(
            f"memory of workers flat: at most {GROWTH_MB} MB more in the last quarter than in the second",
            f"at most {grown_mb:+.1f} MB",
            grown_mb <= GROWTH_MB,
        ),
        Bar(
            f"no connection left over: at most {connections_allowed(site)}, as threads, event loops and housekeeping have",
            f"{told.connections[0]} at first, {told.connections[-1]} at last, at most {max(told.connections)}",
            max(told.connections) <= connections_allowed(site),
        ),
        Bar(
            "decided by Redis whenever nothing is wrong, but for one in a thousand",
            f"{strays} of {len(told.samples):,} requests were not",
            strays <= len(told.samples) / 1000,
        ),
    ]


def described(told: Soaked, seed: int, site: Ground) -> str:
    with site.server.client() as client:
        machine = machine_described(client.info("server"), ("Django", "redis", "hiredis", "gunicorn", "uvicorn"))
    lasted_s = max(sample.answered_s for sample in told.samples) - told.began_s
    promised = [(bar.promise, bar.seen, "holds" if bar.holds else "MISSED") for bar in bars(told, site)]
    spans_s = [one.healed_s - one.began_s for one in told.rounds]
    names = dict.fromkeys(one.name for one in told.rounds)
    listed = f"{len(names.keys() & FAULTS)} of the {len(FAULTS)} [faults](faults.md)"
    also = "; ".join(name for name in names if name not in FAULTS)
    return "\n".join(
        [
            INTRODUCTION,
            f"{machine} {lasted_s:.0f} s, `TIMEOUT` {TIMEOUT}, seed {seed}.\n",
            table([("promise", "seen", ""), *promised]) + "\n",
            f"What happened, each for {min(spans_s):.1f} to {max(spans_s):.1f} s: {listed}; {also}.\n",
        ]
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.faults.soaking", description=__doc__)
    parser.add_argument("--seconds", type=float, default=float(os.environ.get("SOAK_SECONDS", 600)))
    parser.add_argument("--seed", type=int, default=None, help="in which order; printed, so that a run can be done again")
    parser.add_argument("--write", action="store_true", help=f"put the table into {PAGE.relative_to(CHECKOUT)}")
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else int(time.time())
    print(f"{options.seconds:.0f} s, seed {seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="ratewindow-soak-") as folder, ground(Path(folder), TIMEOUT, seed) as site:
        told = soak(site, options.seconds, EVERY_S, HOLD_S)
        page, held = described(told, seed, site), all(bar.holds for bar in bars(told, site))
    print(page)
    if options.write:
        PAGE.write_text(page, encoding="utf-8")
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
