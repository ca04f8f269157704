"""``manage.py ratewindow clean``: the state of rules that are gone or changed leaves Redis."""

from typing import Any

from django.core.management.base import CommandParser

from ratewindow.reporting.orphans import clean_orphans

NAME = "clean"
HELP = "Delete from Redis the state of rules that are gone or changed. All other keys stay as they are."


def add_arguments(parser: CommandParser) -> None:
    parser.add_argument("--dry-run", action="store_true", help="only say what would be deleted")


def run(options: dict[str, Any], stdout: Any) -> None:
    stdout.write(str(clean_orphans(dry_run=options["dry_run"])))
