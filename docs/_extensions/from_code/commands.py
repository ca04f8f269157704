"""Each command's usage, arguments and options, as its parser has them."""

import argparse
from collections.abc import Iterator

from django.core.management.base import CommandParser

from from_code.markdown import code, plain
from ratewindow import rooms
from ratewindow.management.commands.ratewindow import subcommands
from ratewindow.management.subcommand import Subcommand

PAGES = ("operators/commands",)


def add(page: str) -> str:
    return "\n".join([page, *(line for command in subcommands() for line in _section(command))])


def _section(command: Subcommand) -> Iterator[str]:
    parser = CommandParser(prog=f"manage.py ratewindow {command.NAME}", add_help=False)
    for name, options in command.arguments:
        parser.add_argument(name, **options)
    yield f"## {command.NAME}\n"
    yield " ".join([plain(command.HELP), *_more(command)])
    yield f"\n```text\n{parser.format_usage()}```\n"
    yield from (f"* {code(_name(action))}: {plain(_help(parser, action))}" for action in parser._actions)
    yield ""


def _more(command: Subcommand) -> Iterator[str]:
    if command.ALIASES:
        yield f"Alias: {', '.join(map(code, command.ALIASES))}."
    for room in rooms.installed():
        if command.NAME in room.subcommands:
            yield f"Of the room {code(room.name)}."


def _name(action: argparse.Action) -> str:
    value = action.metavar or "|".join(action.choices or ()) or action.dest.upper()
    options = ", ".join(action.option_strings)
    return f"{options} {value}" if options and action.nargs != 0 else options or value


def _help(parser: CommandParser, action: argparse.Action) -> str:
    return parser._get_formatter()._expand_help(action) if action.help else "required"
