"""``manage.py ratewindow clean``: delete the state of deleted rules from Redis, and overrides that ended long ago."""

import argparse
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import CommandError, CommandParser
from django.db import DatabaseError
from redis.exceptions import RedisError

from ratewindow.limiter.durations import parse_duration
from ratewindow.operations.cleaning.everything import clean
from ratewindow.operations.cleaning.orphans import BUDGET
from ratewindow.operations.cleaning.pace import Budget
from ratewindow.operations.shared_prefix import SharedPrefix

NAME = "clean"
HELP = (
    "Delete from Redis the state of rules that have been deleted or changed, and no other key. Delete from the database blocks "
    "and exemptions that ended more than a month ago, and edits of them that are older than the statistics. A run that is out "
    "of time is continued by the next one."
)
PROBLEMS = (ImproperlyConfigured, RedisError, DatabaseError, OSError, SharedPrefix)  # reported without a traceback


def add_arguments(parser: CommandParser) -> None:
    parser.add_argument("--dry-run", action="store_true", help="only report what would be deleted")
    parser.add_argument(
        "--for",
        dest="seconds",
        type=_seconds,
        default=BUDGET.seconds,
        metavar="DURATION",
        help=f"for how long in Redis, such as 10m; {BUDGET.seconds:g}s without it",
    )
    parser.add_argument(
        "--rate",
        type=_rate,
        default=BUDGET.keys_per_second,
        metavar="N",
        help=f"how many keys of Redis to look at in a second; {BUDGET.keys_per_second} without it",
    )


def _seconds(text: str) -> float:
    try:
        return parse_duration(text) / 1000
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _rate(text: str) -> int:
    if not (text.isdecimal() and int(text)):
        raise argparse.ArgumentTypeError(f"{text!r} is not a rate: write a whole number of keys a second, such as 5000")
    return int(text)


def run(options: dict[str, Any], stdout: Any) -> None:
    try:
        for sentence in clean(options["dry_run"], Budget(options["seconds"], options["rate"])):
            stdout.write(sentence)
    except PROBLEMS as error:
        raise CommandError(str(error)) from None
