"""``manage.py ratewindow replay``: send the requests of an access log to a running site."""

import math
import sys
from argparse import ArgumentTypeError
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

from django.core.management.base import CommandError, CommandParser

from ratewindow.management.replay.access_log import Entry, read
from ratewindow.management.replay.addresses import Addresses
from ratewindow.management.replay.pace import due_times
from ratewindow.management.replay.progress import Progress
from ratewindow.management.replay.sending import Outcome, Sender
from ratewindow.management.replay.site import Site

NAME = "replay"
HELP = (
    "Send the requests of an access log (common or combined format, also .gz) to a running site at the log's pace or faster. "
    "Each client of the log is sent as its address in X-Forwarded-For, a host name as an address below 2001:db8::/32. The "
    "site must trust the address you send from in TRUSTED_PROXIES."
)
BAD_LINES_NAMED = 3


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
        raise ArgumentTypeError(f"{text!r} is not a number of lines: write 1 or more")
    return int(text)


def add_arguments(parser: CommandParser) -> None:
    parser.add_argument("log", type=Path, help="the access log")
    parser.add_argument("--url", required=True, help="the site, such as http://127.0.0.1:8000")
    parser.add_argument("--speed", type=_speed, default=1.0, help="multiple of the log's pace; default 1, inf for no waiting")
    parser.add_argument("--limit", type=_count, help="number of lines to send, from the beginning of the log")


@dataclass
class Survey:
    """Requests, clients and bad lines of the log, found before anything is sent."""

    requests: int = 0
    bad: int = 0
    named: list[str] = field(default_factory=list)
    clients: set[str] = field(default_factory=set)
    first_s: float = math.inf
    last_s: float = -math.inf

    def add(self, number: int, found: Entry | ValueError) -> None:
        if isinstance(found, ValueError):
            self.bad += 1
            if self.bad <= BAD_LINES_NAMED:
                self.named.append(f"  line {number}: {found}")
            return
        self.requests += 1
        self.clients.add(found.client)
        self.first_s, self.last_s = min(self.first_s, found.at_s), max(self.last_s, found.at_s)


def run(options: dict[str, Any], stdout: Any) -> None:
    try:
        site = Site(options["url"])
        survey = _survey(options["log"], options["limit"])
    except (OSError, ValueError) as error:
        raise CommandError(str(error)) from None
    if survey.bad:
        more = ["  ..."] if survey.bad > BAD_LINES_NAMED else []
        stdout.write("\n".join([f"{survey.bad:,} line{'s' if survey.bad > 1 else ''} left out:", *survey.named, *more]))
    if not survey.requests:
        raise CommandError(f"{options['log']} has no request that could be sent.")
    try:
        site.connect().close()
    except OSError as error:
        raise CommandError(f"Nothing answers at {options['url']}: {error}. Start the site first, or correct --url.") from None
    lasts_s = survey.last_s - survey.first_s
    stdout.write(
        f"{survey.requests:,} requests of {len(survey.clients):,} clients, {_minutes(lasts_s)} of log, "
        f"at {options['speed']:g} times the pace: about {_minutes(lasts_s / options['speed'])}"
    )
    stdout.write(_summary(_send(site, options, survey.requests, sys.stderr)))


def _survey(log: Path, most: int | None) -> Survey:
    survey = Survey()
    for number, found in read(log, most):
        survey.add(number, found)
    return survey


def _send(site: Site, options: dict[str, Any], requests: int, stream: TextIO) -> Outcome:
    entries = (found for _, found in read(options["log"], options["limit"]) if isinstance(found, Entry))
    progress = Progress(stream, requests)
    # A log that is still being written grows: lines after those of the survey are not sent.
    outcome = Sender(site, Addresses()).run(due_times(islice(entries, requests), options["speed"]), progress)
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
