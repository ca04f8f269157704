"""``manage.py ratewindow subject``: what is stored about one client, and its erasure."""

import time
from datetime import datetime
from typing import Any

from django.core.management.base import CommandError

from ratewindow.conf import time_zone
from ratewindow.conf.in_words import page
from ratewindow.contrib.privacy.client import TypedClient
from ratewindow.contrib.privacy.stored import erase, find
from ratewindow.counting import minutes
from ratewindow.counting.counters import FLUSH_S
from ratewindow.management.subcommand import Subcommand, table
from ratewindow.rooms import Found
from ratewindow.rulebook import reading

SETTLED_S = minutes.MINUTE_S + 3 * FLUSH_S  # when processes have sent what they hold of this minute


def _subject(options: dict[str, Any], stdout: Any) -> None:
    try:
        reading.reload()
        client = TypedClient(options["identity"])
        stdout.write(_as_text(options["identity"], find(client)))
        if options["erase"]:
            _erase(client, stdout)
    except ValueError as error:
        raise CommandError(f"Not {'erased' if options['erase'] else 'found'}: {error}") from None


def _erase(client: TypedClient, stdout: Any) -> None:
    erase(client)
    stdout.write(f"Erased. Once more in {SETTLED_S:.0f} s, when processes have sent what they hold of this minute ...")
    stdout.flush()
    time.sleep(SETTLED_S)
    erase(client)
    left = find(client)
    done = f"Nothing is left to erase. What it cannot find: {page('contrib/privacy.md')}"
    stdout.write(done if not left else _as_text("the client, still", left))


def _as_text(who: str, found: list[Found]) -> str:
    if not found:
        return f"Nothing is stored about {who}."
    rows = [(each.where, str(each.number), _moment(each.since), _moment(each.until)) for each in found]
    return f"Stored about {who}:\n{table(('WHERE', 'NUMBER', 'SINCE', 'UNTIL'), rows)}"


def _moment(moment: datetime | None) -> str:
    return time_zone.local(moment).strftime("%Y-%m-%d %H:%M") if moment is not None else ""


SUBJECT = Subcommand(
    NAME="subject",
    HELP="Show what is stored about a client. With --erase, delete it; in sums a hash of nothing takes its place.",
    arguments=[
        ("identity", {"metavar": "IDENTITY", "help": "such as ip:203.0.113.9, user:42, or a login name"}),
        ("--erase", {"action": "store_true", "help": "delete all of it; takes a minute"}),
    ],
    run=_subject,
)
