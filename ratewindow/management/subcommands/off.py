"""``manage.py ratewindow off``: switch all limits off in every process, for a time or until ``on``."""

import getpass
import socket
from typing import Any

from django.core.management.base import CommandError, CommandParser

from ratewindow import conf
from ratewindow.management.subcommands.quiet_log import quiet_log
from ratewindow.operations import switch_off

ACTS_S = 5.0  # at most, also while Redis or the database is away

NAME = "off"
HELP = "Switch all limits off in every process: nothing is refused or counted. Needs only one of Redis and the database."


def add_arguments(parser: CommandParser) -> None:
    parser.add_argument(
        "--for", dest="for_", metavar="DURATION", help="such as 30m: then they switch on again; default until switched on"
    )
    parser.add_argument("--reason", default="", help="why, for your colleagues")


def run(options: dict[str, Any], stdout: Any) -> None:
    try:
        for_s = None if options["for_"] is None else switch_off.seconds_of(options["for_"])
    except ValueError as error:
        raise CommandError(f"--for: {error}") from None
    with quiet_log():
        turned = switch_off.turn_off(for_s, options["reason"], by=who())
    report(turned, stdout)


def report(turned: switch_off.Turned, stdout: Any) -> None:
    for sentence in turned.unreached:
        stdout.write(sentence)
    if not turned.done:
        raise CommandError("Neither Redis nor the database could be reached: nothing was changed.")
    follows = "" if turned.unreached else f" Every process follows within {ACTS_S:.0f} s."
    stdout.write(f"Limits are {turned.switch.words()}.{follows}")
    if not conf.current().enabled:
        stdout.write("RATEWINDOW['ENABLED'] is False in the settings, which overrides this: no limit holds.")


def who() -> str:
    """The user of the terminal and the host."""
    try:
        return f"{getpass.getuser()}@{socket.gethostname()}"
    except (KeyError, OSError):
        return socket.gethostname()
