"""Growth with the clients: what a decision costs the server when it holds the counts of one, or of a million."""

from benchmarks import cpu
from benchmarks.commands import hit, send, teach
from benchmarks.copies import copy
from benchmarks.pipelined import RANDOM
from benchmarks.plots import Picture, curves
from benchmarks.tables import Row, Section
from benchmarks.timing import in_turns
from ratewindow.limiter.types import Window
from ratewindow.store import process_clients

CLIENTS = (1, 10, 100, 1000, 10_000, 100_000, 1_000_000)
CALLS = 20_000
ROUNDS = 3
HOUR_MS = 3_600_000
OURS, GET = "sliding_window", "GET of a random key, to compare"


def measure() -> Section:
    client = process_clients.client()
    title = "Growth with the clients"
    if not cpu.told(client):
        return Section(title, cpu.UNTOLD)
    client.flushdb()
    window = Window(1_000_000, HOUR_MS)
    teach(client, window)
    first, held = f"bench:{0:012}", 0
    send(client, [hit(window, first)])
    ratios: dict[str, list[float]] = {OURS: [], GET: []}
    for clients in CLIENTS:
        copy(client, first, "bench:", clients, held)
        held = clients - 1
        times = in_turns(
            {
                cpu.FLOOR: cpu.floor(client, CALLS),
                OURS: cpu.taken(client, hit(window, f"bench:{RANDOM}"), CALLS, clients),
                GET: cpu.taken(client, ["GET", f"bench:{RANDOM}"], CALLS, clients),
            },
            ROUNDS,
        )
        for name in ratios:
            ratios[name].append(times[name].ratio(times[cpu.FLOOR]))
    client.flushdb()
    return Section(
        title,
        "Server CPU of a decision against `return 1`, by clients whose counts the server holds, any of whom may ask.",
        [Row(name, tuple(f"{ratio:.1f} x" for ratio in each)) for name, each in ratios.items()],
        ("", *(f"{clients:,}" for clients in CLIENTS)),
        picture=Picture(
            "growth-clients",
            "Cost of a decision by clients",
            curves({name: (CLIENTS, each) for name, each in ratios.items()}, "clients", "server CPU, times return 1"),
        ),
        is_drawn=True,
    )
