"""What subcommands of ``manage.py ratewindow`` are made of: one of the core, its output, and columns of text."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from django.core.management.base import CommandParser

from ratewindow.conf.in_words import in_escapes


class Subcommand(NamedTuple):
    """The module of a room's subcommand has the same names."""

    NAME: str
    HELP: str
    run: Callable[[dict[str, Any], Any], object]  # with the options and the output
    add_arguments: Callable[[CommandParser], object] = lambda parser: None
    ALIASES: Sequence[str] = ()


class SafeOutput:
    """Django's output of a command, whose `write` escapes, so that names, reasons and addresses that others wrote cannot control
    the terminal; all else is as there."""

    def __init__(self, output: Any) -> None:
        self._output = output

    def __getattr__(self, name: str) -> Any:
        return getattr(self._output, name)

    def write(self, text: str = "", *args: Any, **options: Any) -> None:
        self._output.write(in_escapes(text), *args, **options)


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Rows of text in columns."""
    rows = [[" ".join(cell.splitlines()) for cell in row] for row in rows]  # no text by others begins a line
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    lines = [heads, ["-" * width for width in widths], *rows]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines)
