"""``manage.py ratewindow alerts`` and ``report``: send what is new or over, or yesterday, by the channels of the admin."""

from typing import Any

from django.core.management.base import CommandError

from ratewindow.contrib.alerts.report import of_yesterday, send_report
from ratewindow.contrib.alerts.sending import NOT_SENT, raise_alerts
from ratewindow.management.subcommand import Subcommand


def _write(lines: list[str], stdout: Any) -> None:
    """CommandError, and so exit status 1, where one says that something was not sent."""
    for line in lines:
        stdout.write(line)
    if any(f": {NOT_SENT} (" in line for line in lines):
        raise CommandError("Not all was sent: the next run tries again.")


ALERTS = Subcommand(
    NAME="alerts",
    HELP="Send the alerts that are new or over by the channels of the admin. Running it twice sends nothing twice.",
    arguments=[("--dry-run", {"action": "store_true", "help": "only report what would be sent"})],
    run=lambda options, stdout: _write(raise_alerts(options["dry_run"]), stdout),
)
REPORT = Subcommand(
    NAME="report",
    HELP="Print what the report says of yesterday, or send it by the channels of the admin that want it, once to each.",
    arguments=[("--send", {"action": "store_true", "help": "send it to the channels that have not had it yet"})],
    run=lambda options, stdout: _write(send_report() if options["send"] else [of_yesterday()], stdout),
)
