"""``manage.py ratewindow collect``: the minutes that are over, from Redis to the tables of the report."""

from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import CommandError, CommandParser
from django.db import DatabaseError
from redis.exceptions import RedisError

from ratewindow.reporting.collecting import collect_stats

NAME = "collect"
HELP = "Write the counts of the minutes that are over to the report's tables. Running it twice changes nothing."
PROBLEMS = (ImproperlyConfigured, RedisError, DatabaseError, OSError)  # what a person can put right


def add_arguments(parser: CommandParser) -> None:
    pass


def run(options: dict[str, Any], stdout: Any) -> None:
    try:
        stdout.write(str(collect_stats()))
    except PROBLEMS as error:
        raise CommandError(str(error)) from None
