"""``manage.py ratewindow alerts``: send the alerts that are new or over by the channels of the admin."""

from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import CommandError, CommandParser
from django.db import DatabaseError

from ratewindow.management.subcommands.sent_lines import say
from ratewindow.operations.alerts.raising import raise_alerts

NAME = "alerts"
HELP = "Send the alerts that are new or over by the channels of the admin. Running it twice sends nothing twice."
PROBLEMS = (ImproperlyConfigured, DatabaseError)  # reported without a traceback


def add_arguments(parser: CommandParser) -> None:
    parser.add_argument("--dry-run", action="store_true", help="only report what would be sent")


def run(options: dict[str, Any], stdout: Any) -> None:
    try:
        lines = raise_alerts(options["dry_run"])
    except PROBLEMS as error:
        raise CommandError(str(error)) from None
    say(lines, stdout)
