"""``manage.py ratewindow block``: refuse a client, a network, a group or a user, for a while or until released."""

from typing import Any

from django.core.management.base import CommandParser

from ratewindow.commands import overriding
from ratewindow.models import Override

NAME = "block"
HELP = "Block a client, a network or a group: everything is refused, or with --rule what meets that rule."


def add_arguments(parser: CommandParser) -> None:
    overriding.add_arguments(parser)


def run(options: dict[str, Any], stdout: Any) -> None:
    stdout.write(overriding.make(Override.objects.block, "Blocked", options))
