"""``manage.py ratewindow subject``: what is stored about one client, and its erasure."""

import json
import sys
import time
from datetime import datetime
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import CommandError, CommandParser, OutputWrapper
from django.db import DatabaseError
from redis.exceptions import RedisError

from ratewindow.conf import time_zone
from ratewindow.conf.docs import page
from ratewindow.management.safe_output import SafeOutput
from ratewindow.management.subcommands.quiet_log import quiet_log
from ratewindow.management.subcommands.table import table
from ratewindow.operations.subject import Found, Named, erase, find
from ratewindow.operations.subject.erasing import SETTLED_S
from ratewindow.rulebook import reading

NAME = "subject"
HELP = (
    "Show what is stored about a client: blocks, history, statistics, counts. With --erase, delete it; in sums a hash of nothing "
    "takes its place."
)
HEADS = ("WHERE", "NUMBER", "SINCE", "UNTIL", "")
PROBLEMS = (ImproperlyConfigured, RedisError, DatabaseError, OSError, ValueError)  # reported without a traceback


def add_arguments(parser: CommandParser) -> None:
    parser.add_argument("identity", metavar="IDENTITY", help="such as ip:203.0.113.9, user:42, or a login name")
    parser.add_argument("--erase", action="store_true", help="delete all of it; takes a minute, see --no-wait")
    parser.add_argument(
        "--no-wait",
        action="store_true",
        help="do not erase once more when the processes have sent the minute in progress: run it again later",
    )
    parser.add_argument("--json", action="store_true", help="one JSON object for each place")


def run(options: dict[str, Any], stdout: Any) -> None:
    try:
        with quiet_log():
            reading.reload()
            named = Named(options["identity"])
            found = find(named)
            stdout.write(_as_json(found) if options["json"] else _as_text(options["identity"], found))
            if options["erase"]:
                progress = SafeOutput(OutputWrapper(sys.stderr)) if options["json"] else stdout  # what is piped stays JSON
                _erase(named, progress, wait=not options["no_wait"])
    except PROBLEMS as error:
        raise CommandError(f"Not {'erased' if options['erase'] else 'found'}: {error}") from None


def _erase(named: Named, stdout: Any, wait: bool) -> None:
    erase(named)
    if wait:
        stdout.write(f"Erased. Once more in {SETTLED_S:.0f} s, when processes have sent what they hold of this minute ...")
        stdout.flush()
        time.sleep(SETTLED_S)
        erase(named)
    left = find(named)
    done = f"Nothing is left to erase. What it cannot find: {page('privacy.md')}"
    stdout.write(done if not left else _as_text("the client, still", left))


def _as_text(who: str, found: list[Found]) -> str:
    if not found:
        return f"Nothing is stored about {who}."
    rows = [(each.where, str(each.number), _moment(each.since), _moment(each.until), each.says) for each in found]
    return f"Stored about {who}:\n{table(HEADS, rows)}"


def _as_json(found: list[Found]) -> str:
    return json.dumps([each._asdict() for each in found], default=str, ensure_ascii=False)


def _moment(moment: datetime | None) -> str:
    return time_zone.local(moment).strftime("%Y-%m-%d %H:%M") if moment is not None else ""
