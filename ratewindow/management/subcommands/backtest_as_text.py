"""A backtest as text for a terminal: in tables, with the curve where a limit is to be chosen."""

import shutil
from collections.abc import Iterator
from datetime import UTC, datetime

from ratewindow.conf import time_zone
from ratewindow.management.subcommands.table import table
from ratewindow.operations.backtest import curve_text, suggestion_in_words
from ratewindow.operations.backtest.result import Bounds, Caught, Numbers, OfLog, OfPeriod, Result
from ratewindow.operations.backtest.tally import Details

HEADS = ("RULE", "MODE", "LIMITS", "REQUESTS", "CLIENTS", "REFUSED", "CLIENTS REFUSED")
CAUGHT = ("CLIENT", "REQUESTS", "REFUSED", "PATHS", "STATUSES")
LISTED = 10  # clients
KEPT = f"What a client asked for is kept from its first refusal on, or from its request {Details.AFTER} on if that came first."
PATHS, LONGEST = 2, 50  # of a client; characters of a path


def of(found: Result, compared: Result | None = None) -> str:
    """What the rules would have done, and beside it the same of another log."""
    parts = [*_numbers_of(found)]
    if compared is not None:
        parts += ["Compared with:", *_numbers_of(compared)]
    if found.never:
        who = ", ".join(f"{legible(client)} ({said(refused)})" for client, refused in found.never.items())
        parts.append(f"Refused, and never to be: {who}")
    if found.caught:
        parts.append(table(CAUGHT, [_caught(each) for each in found.caught[:LISTED]]))
        if len(found.caught) > LISTED:
            parts[-1] += "\n..."
        parts[-1] += f"\n{KEPT}"
    for each in found.periods:
        parts += _period(each)
    return "\n\n".join([*parts, "\n".join(str(note) for note in found.notes)])


def legible(text: str) -> str:
    """What clients have sent, without what a terminal would obey or could not show."""
    return text if text.isprintable() else "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


def said(found: Bounds) -> str:
    """``4,211``, or ``4,180 to 4,211``."""
    return f"{found.least:,} to {found.most:,}" if found.is_open else f"{found.least:,}"


def _numbers_of(found: Result) -> Iterator[str]:
    log = found.log
    lines = [times(log)]
    if log.unreadable:
        lines += [
            f"{log.unreadable:,} line{'s' if log.unreadable > 1 else ''} left out:",
            *(f"  {each}" for each in log.examples),
        ]
    yield "\n".join(lines)
    if found.reason:
        yield f"No numbers. {found.reason}"
        return
    rows = [(each.name, each.rule.mode if each.rule else "", each.rate, *_numbers(each.numbers)) for each in found.rules]
    yield table(HEADS, rows if len(rows) == 1 else [*rows, ("all together", "", "", *_numbers(found.total))])


def times(log: OfLog) -> str:
    """How many requests the log has, and of which time."""
    text = f"{log.requests:,} requests, format {log.format or 'unknown'}"
    return f"{text}, from {_time(log.first_s)} to {_time(log.last_s)}" if log.requests else text


def _time(at_s: float) -> str:
    return f"{time_zone.local(datetime.fromtimestamp(at_s, UTC)):%Y-%m-%d %H:%M:%S %Z}"


def _numbers(found: Numbers) -> tuple[str, ...]:
    parts = [said(found.refused)] if found.refused.most or not found.would_refuse.most else []
    parts += [f"would refuse {said(found.would_refuse)}"] if found.would_refuse.most else []
    return f"{found.requests:,}", f"{found.clients:,}", ", ".join(parts), said(found.clients_refused)


def _caught(each: Caught) -> tuple[str, ...]:
    paths = ", ".join(_shortened(legible(path)) for path in [*each.did.paths][:PATHS])
    statuses = ", ".join(f"{status} x{count:,}" for status, count in each.did.statuses.items())
    return legible(each.name or each.client), f"{each.requests:,}", said(each.refused), paths, statuses


def _period(each: OfPeriod) -> Iterator[str]:
    width, suggestion = shutil.get_terminal_size().columns, each.suggestion
    yield "\n".join(curve_text.lines(each.curve, width, now=each.limit, suggested=suggestion.limit))
    first = f"Suggested: {suggestion.rate}." if suggestion.limit is not None else "No suggestion."
    yield "\n".join([f"{first} {suggestion_in_words.reason(suggestion)}", *suggestion_in_words.cautions(suggestion)])
