"""``manage.py ratewindow release``: delete a client's counts and locks, and end the blocks that name it."""

from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import CommandError, CommandParser
from django.db import DatabaseError
from redis.exceptions import RedisError

from ratewindow.management.subcommands.quiet_log import quiet_log
from ratewindow.operations import release
from ratewindow.overrides.as_typed import EXAMPLES, as_subject
from ratewindow.rulebook import reading

NAME = "release"
ALIASES = ("reset",)
HELP = "Release a client: delete its counts and penalties under every rule or one, and end the blocks that name it."
PROBLEMS = (ImproperlyConfigured, RedisError, DatabaseError, OSError, ValueError)  # reported without a traceback


def add_arguments(parser: CommandParser) -> None:
    parser.add_argument("identity", metavar="IDENTITY", help=f"such as {EXAMPLES}; several parts are joined by +")
    parser.add_argument("--rule", default="", metavar="RULE", help="only this rule and the blocks for it; default all rules")
    parser.add_argument("--reason", default="", help="why, for the history")


def run(options: dict[str, Any], stdout: Any) -> None:
    try:
        with quiet_log():
            reading.reload()
            released = release.release(as_subject(options["identity"]), options["rule"])
    except PROBLEMS as error:
        raise CommandError(f"Not released: {error}") from None
    if released.failure:
        raise CommandError(str(released))
    stdout.write(str(released))
