"""The tables: groups and cases by limiters, in a terminal and as Markdown."""

from collections.abc import Iterable
from dataclasses import dataclass

from conformance.cases import CASES
from conformance.verdict import FAIL, NOT_APPLICABLE, PASS, Verdict


@dataclass(frozen=True)
class Column:
    """One limiter's verdicts, by the case's id."""

    title: str
    version: str
    configuration: str
    verdicts: dict[str, Verdict]

    def cell(self, ids: Iterable[str]) -> str:
        """Passed of applicable."""
        words = [self.verdicts[each].word for each in ids if each in self.verdicts]
        applicable = len(words) - words.count(NOT_APPLICABLE)
        return f"{words.count(PASS)}/{applicable}" if applicable else "n/a"

    def misses(self, word: str = FAIL) -> list[tuple[str, str]]:
        return [(each, verdict.observed) for each, verdict in self.verdicts.items() if verdict.word == word]


def groups() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for case in CASES:
        found.setdefault(case.group, []).append(case.id)
    return found


def by_group(columns: list[Column]) -> str:
    asked = columns[0].verdicts.keys()
    rows = [[group, *(column.cell(ids) for column in columns)] for group, ids in groups().items() if asked & set(ids)]
    rows.append(["**all**", *(f"**{column.cell(column.verdicts)}**" for column in columns)])
    return markdown(["passed of applicable", *(f"{column.title} {column.version}" for column in columns)], rows)


def by_case(columns: list[Column]) -> str:
    rows = [[f"`{case}`", *(column.verdicts[case].word for column in columns)] for case in columns[0].verdicts]
    return markdown(["case", *(column.title for column in columns)], rows)


def misses(columns: list[Column]) -> str:
    """For each limiter what was observed where it failed, and why the other cases did not apply."""
    return "\n\n".join(filter(None, map(_misses, columns)))


def _misses(column: Column) -> str:
    lines = [
        f"### {column.title} {column.version}",
        "",
        "Set up so:",
        "",
        *(f"* {part}" for part in column.configuration.split("; ")),
    ]
    lines += ["", "Missed:", ""]
    lines += [f"* `{case}`: {observed}" for case, observed in column.misses()] or ["* nothing"]
    reasons: dict[str, list[str]] = {}
    for case, reason in column.misses(NOT_APPLICABLE):
        reasons.setdefault(reason, []).append(f"`{case}`")
    if reasons:
        lines += ["", "Not applicable:", "", *(f"* {reason}: {', '.join(cases)}" for reason, cases in reasons.items())]
    return "\n".join(lines)


def markdown(head: list[str], rows: list[list[str]]) -> str:
    widths = [max(len(row[at]) for row in [head, *rows]) for at in range(len(head))]
    ruler = ["-" * width if at == 0 else "-" * (width - 1) + ":" for at, width in enumerate(widths)]
    return "\n".join(_line(row, widths) for row in [head, ruler, *rows])


def _line(row: list[str], widths: list[int]) -> str:
    return "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"
