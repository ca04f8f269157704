"""What subcommands of ``manage.py ratewindow`` are made of: one of the core, its output, and columns of text."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from django.core.management.base import OutputWrapper

from ratewindow.conf.in_words import in_escapes

Argument = tuple[str, Mapping[str, Any]]  # the name, and what `add_argument` takes of it

REASON: Argument = ("--reason", {"default": "", "help": "why, for your colleagues and the history"})


class Subcommand(NamedTuple):
    NAME: str
    HELP: str
    run: Callable[[dict[str, Any], Any], object]  # with the options and the output
    arguments: Sequence[Argument] = ()
    ALIASES: Sequence[str] = ()


class SafeOutput(OutputWrapper):
    """Django's output of a command, which escapes, so that names, reasons and addresses that others wrote cannot control the
    terminal."""

    def write(self, msg: str = "", style_func: Callable[[str], str] | None = None, ending: str | None = None) -> None:  # type: ignore[override]
        super().write(in_escapes(msg), style_func, ending)


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Rows of text in columns."""
    rows = [[" ".join(cell.splitlines()) for cell in row] for row in rows]  # no text by others begins a line
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    lines = [heads, ["-" * width for width in widths], *rows]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines)
