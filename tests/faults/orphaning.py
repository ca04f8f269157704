"""``python -m tests.faults.orphaning``: a million keys of a Cluster under traffic are cleaned, and what that costs, as tables."""

import argparse
import contextlib
import json
import os
import sys
import tempfile
import time
from pathlib import Path

import redis

from benchmarks.machine import described
from benchmarks.tables import table
from tests.faults import orphans
from tests.faults.ground import template
from tests.faults.orphans import Cleaned, Latency
from tests.faults.traffic import Sample
from tests.serving.servers import CHECKOUT, place
from tests.support.servers import cluster_of_three

PAGE = CHECKOUT / "docs" / "evidence" / "orphans.md"
STALL_MS, GROWTH_MB = 10, 5
ALONE_S = 60.0
INTRODUCTION = """\
# What cleaning costs

Written by `make orphans ARGS=--write`. `manage.py ratewindow clean` runs at its usual pace on a Cluster of three
masters with a million keys, while a site (gunicorn, two workers) counts there under steady traffic.
"""


def promises(keys: int, found: dict[str, int], left: dict[str, int], cleaned: Cleaned, lost: int) -> list[tuple[str, str, bool]]:
    wanted = orphans.wanted(keys)
    longest_ms = max(cleaned.longest_us.values(), default=orphans.WATCHED_US) / 1000
    gone = sum(found.values()) - sum(left.values())
    return [
        (
            "exactly the orphans and what never expires are gone",
            f"{gone:,} gone, {', '.join(f'{count:,} {name}' for name, count in left.items())} left",
            left == wanted,
        ),
        ("no live count is lost", f"{lost} of the requests meanwhile", lost == 0),
        (f"no command takes longer than {STALL_MS} ms, by SLOWLOG", f"{longest_ms:.1f} ms", longest_ms <= STALL_MS),
        (
            f"memory of the task flat: at most {GROWTH_MB} MB more in the last quarter of the run than in the second",
            f"{cleaned.growth_kb / 1024:+.1f} MB, at most {max(cleaned.resident_kb) / 1024:.0f} MB",
            cleaned.growth_kb <= GROWTH_MB * 1024,
        ),
    ]


def measure(folder: Path, keys: int) -> tuple[str, bool]:
    with cluster_of_three() as ports, place(template(folder)) as made:
        url = "redis+cluster://" + ",".join(f"127.0.0.1:{port}" for port in ports)
        masters = [redis.Redis(port=port, protocol=2) for port in ports]
        _prefer(masters)
        orphans.seed(masters, keys)
        found = orphans.left(masters)
        served = made.serve("gthread", {"SERVED_TIMED": "1"}, REDIS=url)
        with orphans.traffic(served) as traffic:
            traffic.wait_for(200)
            moments_s = [time.monotonic()]
            time.sleep(ALONE_S)
            moments_s.append(time.monotonic())
            cleaned = orphans.clean(made, masters, json.dumps({"REDIS": url}))
            moments_s.append(time.monotonic())
            time.sleep(ALONE_S)
            moments_s.append(time.monotonic())
        lost, left = orphans.lost(served, traffic.samples), orphans.left(masters)
        machine = described(masters[0].info("server"), ("Django", "redis", "hiredis", "gunicorn"))
        held = promises(keys, found, left, cleaned, lost)
        sorts = ", ".join(f"{name} {count:,}" for name, count in found.items())
        parts = [
            INTRODUCTION,
            f"{machine} {cleaned.took_s:.0f} s. The servers had, of each sort: {sorts}.",
            table([("promise", "seen", ""), *((each, seen, "holds" if holds else "MISSED") for each, seen, holds in held)]),
            f"It said: *{cleaned.told}*.",
            "What the limiter took of requests, in ms, without waiting for a processor:\n\n"
            + _latencies(traffic.samples, moments_s),
        ]
        for master in masters:
            master.close()
        return "\n\n".join(part.strip() for part in parts) + "\n", all(holds for *_, holds in held)


def _prefer(masters: list[redis.Redis]) -> None:
    for master in masters:
        with contextlib.suppress(PermissionError):
            os.sched_setscheduler(master.info("server")["process_id"], os.SCHED_FIFO, os.sched_param(1))


def _latencies(samples: list[Sample], moments_s: list[float]) -> str:
    lines = [("traffic", "requests", "failed", "without Redis", "median", "99 %", "worst")]
    for name, begins_s, ends_s in zip(("alone", "while cleaning", "alone again"), moments_s[:-1], moments_s[1:], strict=True):
        met = Latency.of([each for each in samples if begins_s <= each.sent_s < ends_s])
        times = (f"{ms:.2f}" for ms in (met.p50_ms, met.p99_ms, met.worst_ms))
        lines.append((name, f"{met.requests:,}", str(met.failed), str(met.alone), *times))
    return table(lines)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.faults.orphaning", description=__doc__)
    parser.add_argument("--keys", type=int, default=1_000_000)
    parser.add_argument("--write", action="store_true", help=f"put the tables into {PAGE.relative_to(CHECKOUT)}")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ratewindow-orphans-") as folder:
        page, held = measure(Path(folder), options.keys)
    print(page)
    if options.write:
        PAGE.write_text(page, encoding="utf-8")
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
