"""``manage.py ratewindow on``: switch the limits on again."""

from typing import Any

from django.core.management.base import CommandParser

from ratewindow.management.subcommands.off import report, who
from ratewindow.management.subcommands.quiet_log import quiet_log
from ratewindow.operations import switch_off

NAME = "on"
HELP = "Switch the limits on again after off, in every process. Needs only one of Redis and the database."


def add_arguments(parser: CommandParser) -> None:
    parser.add_argument("--reason", default="", help="why, for your colleagues")


def run(options: dict[str, Any], stdout: Any) -> None:
    with quiet_log():
        turned = switch_off.turn_on(options["reason"], by=who())
    report(turned, stdout)
