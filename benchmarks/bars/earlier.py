"""What requests take now, of what they took at an earlier commit: the two sides take turns on one server and one core."""

import subprocess

from benchmarks import beside
from benchmarks.tables import TIMES, Section
from ratewindow.store import process_clients

COMMIT = "8c1c28a"  # the last one before the layout by folders
AT_MOST = {
    "view, middleware": 0.92,
    "view, decorator": 0.92,
    "refused, middleware": 0.65,
    "refused, decorator": 0.65,
    "five windows": 0.9,
    "no rule": 1.03,
}
ABOUT = f"Requests through this checkout and through commit {COMMIT}, as `make beside COMMIT={COMMIT}` measures them."


def measure() -> Section:
    client = process_clients.client()
    host, port = (client.connection_pool.connection_kwargs[name] for name in ("host", "port"))
    try:
        rows = beside.measured(COMMIT, f"redis://{host}:{port}/0", rounds=30, bars=AT_MOST)
    except (OSError, subprocess.CalledProcessError):
        return Section("Beside an earlier commit", f"{ABOUT} It is not in this checkout, so this was left out.")
    return Section("Beside an earlier commit", ABOUT, rows, (*TIMES, f"{COMMIT}, µs"))
