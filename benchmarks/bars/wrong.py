"""Wrong decisions: how many a structure admits above the limit, and how many it refuses too early."""

from benchmarks.bursts import MINUTES, bursty, exact, worst_window
from benchmarks.commands import send
from benchmarks.plots import Picture, bars
from benchmarks.structures import OURS, PERIOD_MS, Structure, structures
from benchmarks.tables import Row, Section
from ratewindow.store import process_clients

LIMIT = 100
NO_WINDOWS = ("token_bucket", "leaky_bucket")  # these promise a pace: their own kind of refusing
COLUMNS = ("", "most in any minute", "refused wrongly")


def measure() -> Section:
    client = process_clients.client()
    asked = {name: each for name, each in structures(client, LIMIT).items() if name not in NO_WINDOWS}
    times_ms = bursty(LIMIT, PERIOD_MS)
    right = exact(times_ms, LIMIT, PERIOD_MS)
    found = {}
    for name, structure in asked.items():
        client.flushdb()
        verdicts = _verdicts(structure, times_ms)
        admitted_ms = [time for time, passed in zip(times_ms, verdicts, strict=True) if passed]
        wronged = sum(due and not passed for due, passed in zip(right, verdicts, strict=True))
        found[name] = worst_window(admitted_ms, PERIOD_MS), wronged
    rows = [Row(name, (str(most), f"{early} ({early / len(times_ms):.1%})")) for name, (most, early) in found.items()]
    panels: dict[str, dict[str, float]] = {
        f"most in any minute at a limit of {LIMIT}": {name: most for name, (most, _) in found.items()},
        "refused wrongly, % of requests": {name: 100 * early / len(times_ms) for name, (_, early) in found.items()},
    }
    return Section(
        "What others keep in Redis: wrong decisions",
        f"{len(times_ms):,} requests of one client in {MINUTES} minutes, in bursts of up to one and a half times the limit "
        f"of {LIMIT} a minute. Wrongly refused is what an exact log admits.",
        rows,
        COLUMNS,
        picture=Picture("wrong", "Admitted above the limit, and refused wrongly, by structure", bars(panels, OURS), (9, 3.6)),
    )


def _verdicts(structure: Structure, times_ms: list[int]) -> list[bool]:
    client = process_clients.client()
    return [structure.admits(reply) for reply in send(client, (structure.words("client", now_ms) for now_ms in times_ms))]
