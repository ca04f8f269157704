"""``manage.py ratewindow allow``: let a client, a network, a group or a user pass, whatever rules and blocks say."""

from typing import Any

from django.core.management.base import CommandParser

from ratewindow.management.subcommands import override_arguments
from ratewindow.models import Override

NAME = "allow"
HELP = "Exempt a client, a network or a group: no rule holds, or with --rule not that one, and no block."


def add_arguments(parser: CommandParser) -> None:
    override_arguments.add_arguments(parser)


def run(options: dict[str, Any], stdout: Any) -> None:
    stdout.write(override_arguments.make(Override.objects.allow, "Exempted", options))
