"""``manage.py ratewindow clean``: what no rule owns any more leaves Redis, and blocks that are long over the database."""

from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import CommandError, CommandParser
from django.db import DatabaseError
from redis.exceptions import RedisError

from ratewindow.operations.clean_overrides import clean_ended
from ratewindow.operations.clean_state import clean_orphans
from ratewindow.operations.shared_prefix import SharedPrefix

NAME = "clean"
HELP = (
    "Delete from Redis the state of rules that are gone or changed. All other keys stay as they are. Blocks and exemptions "
    "that ended a month ago are deleted from the database."
)
PROBLEMS = (ImproperlyConfigured, RedisError, DatabaseError, OSError, SharedPrefix)  # what a person can put right


def add_arguments(parser: CommandParser) -> None:
    parser.add_argument("--dry-run", action="store_true", help="only say what would be deleted")


def run(options: dict[str, Any], stdout: Any) -> None:
    try:
        stdout.write(str(clean_ended(dry_run=options["dry_run"])))
        stdout.write(str(clean_orphans(dry_run=options["dry_run"])))
    except PROBLEMS as error:
        raise CommandError(str(error)) from None
