"""``manage.py ratewindow release``: let a client go: its counts, its locks, and the blocks that name it."""

from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import CommandError, CommandParser
from django.db import DatabaseError
from redis.exceptions import RedisError

from ratewindow.management.subcommands.quiet_log import by_itself
from ratewindow.operations import release
from ratewindow.overrides.subjects import EXAMPLES
from ratewindow.rulebook import reading

NAME = "release"
ALIASES = ("reset",)
HELP = "Let a client go: forget what was counted for it and its locks, under every rule or one, and end the blocks that name it."
PROBLEMS = (ImproperlyConfigured, RedisError, DatabaseError, OSError, ValueError)  # what a person can put right


def add_arguments(parser: CommandParser) -> None:
    parser.add_argument("identity", metavar="IDENTITY", help=f"such as {EXAMPLES}; what a key joins is joined with +")
    parser.add_argument("--rule", default="", metavar="RULE", help="only this rule, and blocks for it alone; all without")


def run(options: dict[str, Any], stdout: Any) -> None:
    try:
        with by_itself():
            reading.reload()
            released = release.release(options["identity"], options["rule"])
    except PROBLEMS as error:
        raise CommandError(f"Not released: {error}") from None
    if released.failure:
        raise CommandError(str(released))
    stdout.write(str(released))
