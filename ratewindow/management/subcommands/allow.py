"""``manage.py ratewindow allow``: exempt a client, a network, a group or a user."""

from typing import Any

from django.core.management.base import CommandParser

from ratewindow.management.subcommands import override_arguments
from ratewindow.models import Override

NAME = "allow"
HELP = "Exempt a client, a network or a group from all rules and blocks, or with --rule from that rule only."


def add_arguments(parser: CommandParser) -> None:
    override_arguments.add_arguments(parser)


def run(options: dict[str, Any], stdout: Any) -> None:
    stdout.write(override_arguments.make(Override.objects.allow, "Exempted", options))
