"""``manage.py ratewindow clean``: delete the state of deleted rules from Redis, and overrides that ended long ago."""

from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import CommandError, CommandParser
from django.db import DatabaseError
from redis.exceptions import RedisError

from ratewindow.operations.clean_overrides import clean_ended
from ratewindow.operations.clean_state import clean_orphans
from ratewindow.operations.history.cleaning import clean_edits
from ratewindow.operations.shared_prefix import SharedPrefix

NAME = "clean"
HELP = (
    "Delete from Redis the state of rules that have been deleted or changed, and no other key. Delete from the database blocks "
    "and exemptions that ended more than a month ago, and edits of them that are older than the statistics."
)
PROBLEMS = (ImproperlyConfigured, RedisError, DatabaseError, OSError, SharedPrefix)  # reported without a traceback


def add_arguments(parser: CommandParser) -> None:
    parser.add_argument("--dry-run", action="store_true", help="only report what would be deleted")


def run(options: dict[str, Any], stdout: Any) -> None:
    try:
        stdout.write(str(clean_ended(dry_run=options["dry_run"])))
        stdout.write(str(clean_edits(dry_run=options["dry_run"])))
        stdout.write(str(clean_orphans(dry_run=options["dry_run"])))
    except PROBLEMS as error:
        raise CommandError(str(error)) from None
