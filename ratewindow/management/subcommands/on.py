"""``manage.py ratewindow on``: the limits hold again."""

from typing import Any

from django.core.management.base import CommandParser

from ratewindow.management.subcommands.off import report, who
from ratewindow.management.subcommands.quiet_log import by_itself
from ratewindow.operations import switch_off

NAME = "on"
HELP = "Switch the limits on again after off, in every process. Works with Redis or the database away."


def add_arguments(parser: CommandParser) -> None:
    parser.add_argument("--reason", default="", help="for people: why")


def run(options: dict[str, Any], stdout: Any) -> None:
    with by_itself():
        turned = switch_off.turn_on(options["reason"], by=who())
    report(turned, stdout)
