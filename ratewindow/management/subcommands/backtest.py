"""``manage.py ratewindow backtest``: what rules would have done with the requests of an access log."""

import json
import sys
from typing import Any

from django.core.management.base import CommandError, CommandParser

from ratewindow.limiter.algorithms import algorithm_choices
from ratewindow.management.progress import ProgressLine
from ratewindow.management.subcommands.quiet_log import quiet_log
from ratewindow.management.subcommands.table import table
from ratewindow.operations.backtest import as_values
from ratewindow.operations.backtest.plan import Plan, of_rates, of_rule, of_site
from ratewindow.operations.backtest.result import Bounds, Numbers, Result
from ratewindow.operations.backtest.run import backtest
from ratewindow.operations.logs.log import open_logs
from ratewindow.rules.rule import ON_MISSING

NAME = "backtest"
HELP = (
    "Say what rules would have done with the requests of an access log: how many they would have refused, of which clients. "
    "One rule of the site, all of them, or one that is given by its rates. It asks no server and counts nothing. In a log of "
    "whole seconds each request is decided at the beginning of its second, and spread over it: where that differs, the "
    "answer is the least and the most."
)
LISTED = 10  # clients
OPTIONS = ("path", "prefix", "regex", "route", "methods", "cost", "normalise")  # of a rule that is given by its rates
RATE_OPTIONS = ("algorithm", "burst", "buckets", "aligned_to", "on_missing", "count_when", "hold", "count_refused", "penalty")


def add_arguments(parser: CommandParser) -> None:
    parser.add_argument("log", nargs="+", metavar="LOG", help="an access log, also .gz and .zst, or - for standard input")
    parser.add_argument("--rule", default="", metavar="NAME", help="a rule of the site, as if it were enforced")
    parser.add_argument("--all", action="store_true", help="all rules of the site as they are, with blocks and exemptions")
    parser.add_argument("--rates", default="", help="a rule by its rates, such as 10/m or '5/s; 100/m'; --rule at other rates")
    parser.add_argument(
        "--format", help="the format of the log, by name or as the server's own string; default: what it looks like"
    )
    parser.add_argument("--compare", action="append", default=[], metavar="LOG", help="the same on another log, side by side")
    parser.add_argument(
        "--never", action="append", default=[], metavar="CLIENT", help="who is never to be refused; may be repeated"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object")
    given = parser.add_argument_group("a rule by its rates", "as the fields of a rule in the admin")
    given.add_argument("--key", help="who is counted together, such as ip, user_or_ip or header:x-api-key; default ip")
    given.add_argument("--algorithm", choices=[name for name, _ in algorithm_choices()], help="default sliding_window")
    for kind, what in (
        ("path", "one path"),
        ("prefix", "all paths below"),
        ("regex", "paths that match"),
        ("route", "a URL name"),
    ):
        given.add_argument(f"--{kind}", metavar=kind[0].upper(), help=f"{what}; default all requests")
    given.add_argument("--methods", help="such as POST,PUT; default all")
    given.add_argument("--cost", type=int, help="units of a request; default 1")
    given.add_argument(
        "--normalise", action="store_true", default=None, help="values that differ in case and blanks are one client"
    )
    given.add_argument("--burst", type=int, help="of token_bucket and leaky_bucket")
    given.add_argument("--buckets", type=int, help="of sliding_window")
    given.add_argument("--aligned-to", help="of fixed_window: minute, hour, day or week")
    given.add_argument("--on-missing", choices=ON_MISSING, help="what holds for requests without the key; default ip")
    given.add_argument("--count-when", help="statuses of answers that count, such as 401,403,5xx; default always")
    given.add_argument(
        "--hold", action="store_true", default=None, help="charge before the answer, and refund what does not count"
    )
    given.add_argument("--count-refused", action="store_true", default=None, help="refused requests count, too")
    given.add_argument("--penalty", help="how long a refused client is locked out, such as 10m")


def run(options: dict[str, Any], stdout: Any) -> None:
    try:
        with quiet_log():
            plan = _plan(options)
            found = _backtest(options["log"], plan, options)
            other = _backtest(options["compare"], plan, options) if options["compare"] else None
    except ValueError as error:
        raise CommandError(str(error)) from None
    if options["json"]:
        values = as_values.of(found) | ({"compare": as_values.of(other)} if other is not None else {})
        stdout.write(json.dumps(values, ensure_ascii=False))
    else:
        stdout.write(_in_text(found, other))


def _plan(options: dict[str, Any]) -> Plan:
    names = ("key", *OPTIONS, *RATE_OPTIONS)
    given = {name: options[name] for name in names if options[name] is not None}
    asked = [name for name in ("rule", "all", "rates") if options[name]]
    if asked not in (["rule"], ["all"], ["rates"], ["rule", "rates"]):
        raise ValueError("say which rules decide: --rule NAME, --all, or --rates '10/m' --key ip")
    if asked == ["rates"]:
        return of_rates(options["rates"], **given)
    if given:
        raise ValueError(f"--{next(iter(given)).replace('_', '-')} is for a rule that is given by --rates alone: leave it out")
    return of_site() if options["all"] else of_rule(options["rule"], options["rates"])


def _backtest(paths: list[str], plan: Plan, options: dict[str, Any]) -> Result:
    line = ProgressLine(sys.stderr)
    log = open_logs(paths, options["format"])

    def progress(share: float, requests: int) -> None:
        line.show(f"{requests:,} requests", share or None)

    try:
        return backtest(log, plan, options["never"], progress)
    finally:
        line.end()


HEADS = ("RULE", "MODE", "LIMITS", "REQUESTS", "CLIENTS", "REFUSED", "CLIENTS REFUSED")


def _in_text(found: Result, other: Result | None) -> str:
    parts = [_log(found), table(HEADS, _rows(found))]
    if other is not None:
        parts += [f"Compared: {_log(other)}", table(HEADS, _rows(other))]
    if found.never:
        parts.append("Refused, and never to be: " + ", ".join(f"{who} ({said(count)})" for who, count in found.never.items()))
    if found.caught:
        rows = [
            (
                each.name or each.client,
                f"{each.requests:,}",
                said(each.refused),
                ", ".join(list(each.did.paths)[:2]),
                ", ".join(str(status) for status in each.did.statuses),
            )
            for each in found.caught[:LISTED]
        ]
        parts.append(table(("CLIENT", "REQUESTS", "REFUSED", "PATHS", "STATUSES"), rows))
    return "\n\n".join([*parts, "\n".join(str(note) for note in found.notes)])


def _log(found: Result) -> str:
    log = found.log
    lines = [f"{log.requests:,} requests, format {log.format or 'unknown'}"]
    if log.unreadable:
        lines += [f"{log.unreadable:,} lines cannot be read:", *(f"  {each}" for each in log.examples)]
    return "\n".join(lines)


def _rows(found: Result) -> list[tuple[str, ...]]:
    rows = [(each.name, each.rule.mode if each.rule else "", each.rate, *_numbers(each.numbers)) for each in found.rules]
    return rows if len(rows) == 1 else [*rows, ("all together", "", "", *_numbers(found.total))]


def _numbers(found: Numbers) -> tuple[str, ...]:
    refused = said(found.refused)
    if found.would_refuse.most:
        refused += (
            f", would refuse {said(found.would_refuse)}" if found.refused.most else f"would refuse {said(found.would_refuse)}"
        )
    return f"{found.requests:,}", f"{found.clients:,}", refused, said(found.clients_refused)


def said(found: Bounds) -> str:
    """``4,211``, or ``4,180 to 4,211``."""
    return f"{found.least:,} to {found.most:,}" if found.is_open else f"{found.least:,}"
