"""A scrape of the metrics of a thousand rules, and of ten."""

from dataclasses import dataclass

from benchmarks.tables import Row, Section
from benchmarks.timing import Contestant, side_by_side
from ratewindow.contrib.metrics import totals, views
from ratewindow.counting.sums import NUMBERS
from ratewindow.store import process_clients

RULES, AT_MOST_MS = (10, 1000), 20.0


@dataclass(frozen=True)
class Scrape(Row):
    ms: float = 0.0

    @property
    def measured(self) -> float:
        return self.ms

    def figure(self, number: float) -> str:
        return f"{number:.3g} ms"

    def line(self) -> list[str]:
        return [self.name, f"{self.ms:.1f}", self.bar(), *self.cells]


def measure() -> Section:
    rows = []
    for rules in RULES:
        _fill(rules)
        times = side_by_side({"scrape": Contestant(lambda _: views.text())}, rounds=20, calls=5)["scrape"]
        rows.append(Scrape(f"{rules:,} rules", (), AT_MOST_MS if rules == RULES[-1] else None, times.median_us / 1000))
    process_clients.client().unlink(totals.key())
    return Section(
        "A scrape of the metrics",
        "The view of `ratewindow.contrib.metrics`: the totals of each rule and one reason of it, read from Redis and written as "
        "text.",
        rows,
        ("", "ms", "at most"),
    )


def _fill(rules: int) -> None:
    fields = [f"{name}|rule-{number:04}" for number in range(rules) for name in (*NUMBERS, "reason:limit")]
    process_clients.client().hset(totals.key(), mapping=dict.fromkeys(fields, 123_456))
