"""The lines of a run that sends something by the channels of the admin."""

from collections.abc import Iterable
from typing import Any

from django.core.management.base import CommandError

from ratewindow.operations.alerts.sending import NOT_SENT


def say(lines: Iterable[str], stdout: Any) -> None:
    """CommandError, and so exit status 1, where one says that something was not sent."""
    lines = list(lines)
    for line in lines:
        stdout.write(line)
    if any(f": {NOT_SENT} (" in line for line in lines):
        raise CommandError("Not all was sent: the next run tries again.")
