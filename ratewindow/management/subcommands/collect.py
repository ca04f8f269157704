"""``manage.py ratewindow collect``: write the counts of past minutes from Redis to the tables of the report."""

from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import CommandError, CommandParser
from django.db import DatabaseError
from redis.exceptions import RedisError

from ratewindow.reporting.collecting import collect_stats

NAME = "collect"
HELP = "Write the counts of past minutes from Redis to the report's tables. Running it twice does no harm."
PROBLEMS = (ImproperlyConfigured, RedisError, DatabaseError, OSError)  # reported without a traceback


def add_arguments(parser: CommandParser) -> None:
    pass


def run(options: dict[str, Any], stdout: Any) -> None:
    try:
        stdout.write(str(collect_stats()))
    except PROBLEMS as error:
        raise CommandError(str(error)) from None
