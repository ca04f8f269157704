"""What was measured, as rows, and rows as a table: the same Markdown for the terminal and the documentation."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from benchmarks.plots import Picture
from benchmarks.timing import Times

TIMES = ("", "median, µs", "ratio", "at most")
AMOUNTS = ("", "bytes", "at most")
NONE = Times(())


@dataclass(frozen=True)
class Row:
    """One line. `at_most` is the bar: what was promised; `cells` fills the columns that a section adds."""

    name: str
    cells: tuple[str, ...] = ()
    at_most: float | None = None

    @property
    def measured(self) -> float:
        raise NotImplementedError

    @property
    def holds(self) -> bool:
        return self.at_most is None or self.measured <= self.at_most

    def figure(self, number: float) -> str:
        """A number with its unit."""
        raise NotImplementedError

    def line(self) -> list[str]:
        return [self.name, *self.cells]

    def bar(self) -> str:
        return "" if self.at_most is None else f"{self.figure(self.at_most)}{'' if self.holds else ', MISSED'}"


@dataclass(frozen=True)
class Timed(Row):
    """How long something takes, as times and as a ratio, which is what bars are about."""

    times: Times = NONE
    floor: Times = NONE

    @property
    def measured(self) -> float:
        return self.times.ratio(self.floor)

    def figure(self, number: float) -> str:
        return f"{number:g} x" if number == self.at_most else f"{number:.2f} x"

    def line(self) -> list[str]:
        digits = 2 if self.times.median_us < 10 else 1
        return [self.name, f"{self.times.median_us:.{digits}f}", self.figure(self.measured), self.bar(), *self.cells]


@dataclass(frozen=True)
class Amount(Row):
    """How many bytes something takes."""

    value: float = 0.0

    @property
    def measured(self) -> float:
        return self.value

    def figure(self, number: float) -> str:
        return f"{number:g} bytes" if number == self.at_most else f"{number:,.1f} bytes"

    def line(self) -> list[str]:
        return [self.name, f"{self.value:,.1f}", self.bar(), *self.cells]


@dataclass(frozen=True)
class Section:
    """One bar, or one comparison: what is measured, in a paragraph, and its rows; `why` is told when a bar is missed."""

    title: str
    about: str
    rows: Sequence[Row] = ()
    columns: tuple[str, ...] = TIMES
    why: str = ""
    picture: Picture | None = None
    is_drawn: bool = False  # the page has the picture in the place of the table
    is_printed: bool = False  # in the terminal alone

    @property
    def promised(self) -> list[Row]:
        return [row for row in self.rows if row.at_most is not None]

    def markdown(self) -> str:
        parts = [f"## {self.title}", self.about]
        if self.rows:
            parts.append(table([self.columns, *(row.line() for row in self.rows)]))
        if self.why and not all(row.holds for row in self.promised):
            parts.append(self.why)
        return "\n\n".join(parts) + "\n"

    def page(self) -> str:
        """As in the documentation."""
        if not self.picture:
            return self.markdown()
        words = f"## {self.title}\n\n{self.about}\n" if self.is_drawn else self.markdown()
        return f"{words}\n{self.picture.markdown()}"


def summary(sections: Iterable[Section]) -> str:
    """How many bars hold, and which do not."""
    rows = [(section.title, row) for section in sections for row in section.promised]
    missed = [f"*{title}*, {row.name} ({row.figure(row.measured)})" for title, row in rows if not row.holds]
    told = f"{len(rows) - len(missed)} of {len(rows)} bars hold."
    return f"{told} Missed: {'; '.join(missed)}.\n" if missed else f"{told}\n"


def table(lines: Iterable[Sequence[str]]) -> str:
    """A Markdown table, the heading first; its columns also line up where nobody renders it, numbers to the right."""
    lines = list(lines)
    columns = list(zip(*lines, strict=True))
    widths = [max(3, *map(len, column)) for column in columns]
    right = [any(column[1:]) and all(cell.lstrip("-")[:1].isdigit() for cell in column[1:] if cell) for column in columns]
    right[0] = False
    rule = ["-" * (width - 1) + ":" if to_right else "-" * width for width, to_right in zip(widths, right, strict=True)]
    return "\n".join(_padded(line, widths, right) for line in [lines[0], rule, *lines[1:]])


def _padded(line: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    cells = zip(line, widths, right, strict=True)
    return "| " + " | ".join(cell.rjust(width) if to_right else cell.ljust(width) for cell, width, to_right in cells) + " |"
