"""The bars, in the order of the report. A new one is a module here with `measure()`, and its place in `BARS`."""

from collections.abc import Callable

from benchmarks.bars import (
    backtest,
    counting,
    growth_clients,
    growth_limit,
    known,
    matching,
    memory,
    overrides,
    peers,
    profile,
    scrape,
    server_cpu,
    structures,
    sync,
    together,
    windows,
    wrong,
    year,
)
from benchmarks.tables import Section

BARS: dict[str, Callable[[], Section]] = {
    "sync": sync.measure,
    "asyncio": together.measure,
    "windows": windows.measure,
    "known": known.measure,
    "counting": counting.measure,
    "profile": profile.measure,
    "matching": matching.measure,
    "overrides": overrides.measure,
    "server-cpu": server_cpu.measure,
    "memory": memory.measure,
    "scrape": scrape.measure,
    "peers": peers.measure,
    "structures": structures.measure,
    "wrong": wrong.measure,
    "growth-limit": growth_limit.measure,
    "growth-clients": growth_clients.measure,
    "year": year.measure,
    "backtest": backtest.measure,
}
