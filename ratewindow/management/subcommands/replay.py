"""``manage.py ratewindow replay``: send the requests of an access log to a running site."""

import math
import sys
from argparse import ArgumentTypeError
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

from django.core.management.base import CommandError, CommandParser

from ratewindow.management.replay.pace import due_times
from ratewindow.management.replay.progress import Progress
from ratewindow.management.replay.sending import Outcome, Sender
from ratewindow.management.replay.site import Site
from ratewindow.operations.backtest.addresses import Addresses
from ratewindow.operations.logs.entry import Entry, LogError
from ratewindow.operations.logs.lines import STANDARD_INPUT
from ratewindow.operations.logs.log import Log, open_logs

NAME = "replay"
HELP = (
    "Send the requests of an access log to a running site at the log's pace or faster. "
    "Each client of the log is sent as its address in X-Forwarded-For, a host name as an address below 2001:db8::/32. The "
    "site must trust the address you send from in TRUSTED_PROXIES."
)


def _speed(text: str) -> float:
    try:
        speed = float(text)
    except ValueError:
        speed = math.nan
    if not speed > 0:
        raise ArgumentTypeError(
            f"{text!r} is not a speed: write 1 for the log's pace, 120 for a minute in half a second, inf for no waiting"
        )
    return speed


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ArgumentTypeError(f"{text!r} is not a number of requests: write 1 or more")
    return int(text)


def add_arguments(parser: CommandParser) -> None:
    parser.add_argument("log", type=Path, nargs="+", help="the access log; several files are merged by time")
    parser.add_argument(
        "--format", help="the format of the log, by name or as the server's own string; default: what it looks like"
    )
    parser.add_argument("--url", required=True, help="the site, such as http://127.0.0.1:8000")
    parser.add_argument("--speed", type=_speed, default=1.0, help="multiple of the log's pace; default 1, inf for no waiting")
    parser.add_argument("--limit", type=_count, help="number of requests to send, from the beginning of the log")


@dataclass
class Survey:
    """Requests and clients of the log, found before anything is sent."""

    requests: int = 0
    clients: set[str] = field(default_factory=set)
    first_s: float = math.inf
    last_s: float = -math.inf

    def add(self, entry: Entry) -> None:
        self.requests += 1
        self.clients.add(entry.client)
        self.first_s, self.last_s = min(self.first_s, entry.at_s), max(self.last_s, entry.at_s)


def run(options: dict[str, Any], stdout: Any) -> None:
    if any(str(path) == STANDARD_INPUT for path in options["log"]):
        raise CommandError("replay reads the log twice, which standard input cannot. Write it to a file first.")
    try:
        site = Site(options["url"])
        log = open_logs(options["log"], options["format"])
        survey = Survey()
        for entry in islice(log, options["limit"]):
            survey.add(entry)
    except ValueError as error:
        raise CommandError(str(error)) from None
    stdout.write("\n".join(_read(log)))
    if not survey.requests:
        raise CommandError(f"{', '.join(map(str, options['log']))} has no request that could be sent.")
    try:
        site.connect().close()
    except OSError as error:
        raise CommandError(f"Nothing answers at {options['url']}: {error}. Start the site first, or correct --url.") from None
    lasts_s = survey.last_s - survey.first_s
    stdout.write(
        f"{survey.requests:,} requests of {len(survey.clients):,} clients, {_minutes(lasts_s)} of log, "
        f"at {options['speed']:g} times the pace: about {_minutes(lasts_s / options['speed'])}"
    )
    stdout.write(_summary(_send(site, log, options, survey.requests, sys.stderr)))


def _read(log: Log) -> Iterator[str]:
    """What was understood of the log."""
    if log.format:
        yield f"Format: {log.format}"
    if log.unreadable:
        yield f"{log.unreadable:,} line{'s' if log.unreadable > 1 else ''} left out:"
        yield from (f"  {example}" for example in log.examples)
        if log.unreadable > len(log.examples):
            yield "  ..."


def _send(site: Site, log: Log, options: dict[str, Any], requests: int, stream: TextIO) -> Outcome:
    progress = Progress(stream, requests)
    due = due_times(islice(log, requests), options["speed"], log.whole_seconds)
    # A log that is still being written grows: lines after those of the survey are not sent.
    try:
        outcome = Sender(site, Addresses()).run(due, progress)
    except LogError as error:
        raise CommandError(str(error)) from None
    site.close()
    progress.end(outcome)
    if not any(isinstance(status, int) for status in outcome.statuses):
        raise CommandError(f"No answer to any of {outcome.total:,} requests: {', '.join(map(str, outcome.statuses))}.")
    return outcome


def _summary(outcome: Outcome) -> str:
    lines = ["", f"{'Status':<28}{'Requests':>10}{'Share':>9}"]
    for status, count in sorted(outcome.statuses.items(), key=lambda item: (isinstance(item[0], str), str(item[0]))):
        label = str(status) if isinstance(status, int) else f"no answer, {status}"
        lines.append(f"{label:<28}{count:>10,}{count / outcome.total:>9.1%}")
    lines.append(f"{'Total':<28}{outcome.total:>10,}{1:>9.1%}")
    lines.append("")
    lines.append(f"Took {_minutes(outcome.took_s)}, at worst {outcome.latest_s:.2f} s behind the pace.")
    if outcome.refused:
        most = ", ".join(f"{client} ({count:,})" for client, count in outcome.refused.most_common(3))
        lines.append(f"Refused clients: {len(outcome.refused):,}; most often {most}.")
    if outcome.interrupted:
        lines.append("Interrupted: the rest of the log was not sent.")
    return "\n".join(lines)


def _minutes(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.1f} s"
    minutes, hours = round(seconds / 60), seconds / 3600
    return f"{minutes} min" if minutes < 120 else f"{hours:.1f} h"
