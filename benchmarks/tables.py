"""What was measured, as rows, and rows as a table: the same Markdown for the terminal and the documentation."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from benchmarks.timing import Times


@dataclass(frozen=True)
class Row:
    """One line. `at_most` is the bar: the ratio that was promised; `extra` fills the columns that a section adds."""

    name: str
    times: Times
    ratio: float
    at_most: float | None = None
    extra: tuple[str, ...] = ()

    @property
    def holds(self) -> bool | None:
        return None if self.at_most is None else self.ratio <= self.at_most

    def cells(self) -> list[str]:
        low, high = self.times.spread_us
        bar = "" if self.at_most is None else f"at most {self.at_most:g} x: {'holds' if self.holds else 'MISSED'}"
        return [self.name, f"{self.times.median_us:.1f}", f"{low:.1f} to {high:.1f}", f"{self.ratio:.2f} x", bar, *self.extra]


@dataclass(frozen=True)
class Section:
    """One bar, or one comparison: what is measured, in a paragraph, and its rows."""

    title: str
    about: str
    rows: Sequence[Row] = ()
    extra_columns: tuple[str, ...] = field(default=())

    def markdown(self) -> str:
        if not self.rows:
            return f"## {self.title}\n\n{self.about}\n"
        head = ["", "median, µs", "half of the rounds", "ratio", "bar", *self.extra_columns]
        return f"## {self.title}\n\n{self.about}\n\n{_table([head, *(row.cells() for row in self.rows)])}\n"


def _table(lines: Iterable[Sequence[str]]) -> str:
    """A Markdown table whose columns also line up where nobody renders it; numbers to the right."""
    lines = list(lines)
    widths = [max(3, *(len(line[column]) for line in lines)) for column in range(len(lines[0]))]
    right = {1, 2, 3}
    rule = ["-" * (width - 1) + ":" if column in right else "-" * width for column, width in enumerate(widths)]
    padded = [
        [
            cell.rjust(width) if column in right else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        for line in [lines[0], rule, *lines[1:]]
    ]
    return "\n".join("| " + " | ".join(line) + " |" for line in padded)
