"""``manage.py ratewindow block``: block a client, a network, a group or a user, for a time or until released."""

from typing import Any

from django.core.management.base import CommandParser

from ratewindow.management.subcommands import override_arguments
from ratewindow.models import Override

NAME = "block"
HELP = "Block a client, a network or a group: refuse all its requests, or with --rule those that meet that rule."


def add_arguments(parser: CommandParser) -> None:
    override_arguments.add_arguments(parser)


def run(options: dict[str, Any], stdout: Any) -> None:
    stdout.write(override_arguments.make(Override.objects.block, "Blocked", options))
