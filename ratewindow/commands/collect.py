"""``manage.py ratewindow collect``: the minutes that are over, from Redis to the tables of the report."""

from typing import Any

from django.core.management.base import CommandParser

from ratewindow.reporting.collecting import collect_stats

NAME = "collect"
HELP = "Write the counts of the minutes that are over to the report's tables. Running it twice changes nothing."


def add_arguments(parser: CommandParser) -> None:
    pass


def run(options: dict[str, Any], stdout: Any) -> None:
    stdout.write(str(collect_stats()))
