"""The rows of this benchmark's tables: what was counted, and the most that it may be."""

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.tables import Row


@dataclass(frozen=True)
class Count(Row):
    """`value` is what the bar is about; `cells` are all that the row shows."""

    value: float = 0

    @property
    def measured(self) -> float:
        return self.value

    def figure(self, number: float) -> str:
        return f"{number:,g}"

    def line(self) -> list[str]:
        return [self.name, *self.cells, self.bar()]


@dataclass(frozen=True)
class Verdict(Count):
    """Whether somebody with the right password gets in: the value is how often he was refused, of once."""

    def figure(self, number: float) -> str:
        return "refused" if number else "passes"


def counts(name: str, values: Sequence[float], at_most: float | None = None) -> Count:
    """A column for each value, all of which the bar is about."""
    return Count(name, tuple(f"{value:,g}" for value in values), at_most, max(values))
