"""``manage.py ratewindow report``: yesterday or last week in words, as digests say it; or send the digests that are due."""

from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import CommandError, CommandParser
from django.db import DatabaseError

from ratewindow.management.subcommands.sent_lines import say
from ratewindow.operations.digests.sending import newest_in_words, send_report

NAME = "report"
HELP = "Print what the report says of yesterday or last week, or send the digests that are due, each once."
PROBLEMS = (ImproperlyConfigured, DatabaseError)  # reported without a traceback


def add_arguments(parser: CommandParser) -> None:
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument("--week", action="store_true", help="the last whole week, instead of yesterday")
    choice.add_argument("--send", action="store_true", help="send the digests that are due, by the channels of the admin")


def run(options: dict[str, Any], stdout: Any) -> None:
    try:
        lines = send_report() if options["send"] else [newest_in_words(options["week"]).rstrip()]
    except PROBLEMS as error:
        raise CommandError(str(error)) from None
    say(lines, stdout)
