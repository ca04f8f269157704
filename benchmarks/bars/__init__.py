"""The bars, in the order of the report. A new one is a module here with `measure()`, and its place in `BARS`."""

from collections.abc import Callable

from benchmarks.bars import peers, server_cpu, sync, windows
from benchmarks.tables import Section

BARS: dict[str, Callable[[], Section]] = {
    "sync": sync.measure,
    "windows": windows.measure,
    "server-cpu": server_cpu.measure,
    "peers": peers.measure,
}
