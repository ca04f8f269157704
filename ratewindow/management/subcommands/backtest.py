"""``manage.py ratewindow backtest``: what rules would have done with the requests of an access log."""

import json
import sys
from pathlib import Path
from typing import Any

from django.apps import apps
from django.core.management.base import CommandError, CommandParser

from ratewindow.limiter.algorithms import algorithm_choices
from ratewindow.management.few_collections import few_collections
from ratewindow.management.progress import ProgressLine
from ratewindow.management.subcommands import backtest_as_text
from ratewindow.management.subcommands.quiet_log import quiet_log
from ratewindow.operations.backtest import as_values
from ratewindow.operations.backtest.creating import check_new, create
from ratewindow.operations.backtest.plan import Plan, of_rates, of_rule, of_site
from ratewindow.operations.backtest.result import Result
from ratewindow.operations.backtest.run import backtest
from ratewindow.operations.logs.lines import STANDARD_INPUT
from ratewindow.operations.logs.log import open_logs
from ratewindow.rules.rule import ON_MISSING

NAME = "backtest"
HELP = (
    "Say what rules would have done with the requests of an access log: how many they would have refused, of which clients. "
    "One rule of the site, all of them, or one that is given by its rates. It asks no server and counts nothing. In a log of "
    "whole seconds each request is decided at the beginning of its second, and spread over it: where that differs, the "
    "answer is the least and the most."
)
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
    parser.add_argument(
        "--create",
        default="",
        metavar="NAME",
        help="save the rule in shadow, with the result as its evidence; with --suggest at the suggested limit",
    )
    parser.add_argument("--suggest", action="store_true", help="also a limit for one rule, with its reason and the curve")
    output = parser.add_mutually_exclusive_group()
    output.add_argument("--json", action="store_true", help="one JSON object")
    output.add_argument("--html", type=Path, metavar="FILE", help="one page in one file, with the curve of limits")
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
        if [*options["log"], *options["compare"]].count(STANDARD_INPUT) > 1:
            raise ValueError("standard input can be read only once: name a file, too")
        with quiet_log(), few_collections():
            plan = _plan(options)
            if options["create"]:
                check_new(options["create"])  # before a long log is read
            found = _backtest(options["log"], plan, options)
            other = _backtest(options["compare"], plan, options) if options["compare"] else None
        if options["html"]:
            from ratewindow.management.subcommands import backtest_as_page  # a page of the admin, which a site may be without

            _write(options["html"], backtest_as_page.of(found, other))
        with quiet_log():  # last, so that a command which fails has made no rule
            created = _create(options, plan, found) if options["create"] else None
    except ValueError as error:
        raise CommandError(str(error)) from None
    if options["html"]:
        stdout.write(f"Written to {options['html']}.")
    elif options["json"]:
        stdout.write(json.dumps(_values(found, other, options["suggest"]) | ({"created": created} if created else {})))
    else:
        stdout.write(backtest_as_text.of(found, other))
    if created and not options["json"]:
        name, rates = created["name"], created["rates"]
        stdout.write(f"\nSaved in shadow: {name}, {rates}. To enforce it: manage.py ratewindow mode {name} enforce")


def _create(options: dict[str, Any], plan: Plan, found: Result) -> dict[str, str]:
    names = [Path(each).name for each in options["log"]]
    rule = create(options["create"], plan.rules[0], ", ".join(names), found, options["suggest"])
    return {"name": rule.name, "rates": "; ".join(row.freeze().text for row in rule.windows.all())}


def _values(found: Result, other: Result | None, suggests: bool) -> dict[str, Any]:
    values = as_values.of(found) | (as_values.of_periods(found) if suggests else {})
    return values | ({"compare": _values(other, None, suggests)} if other is not None else {})


def _needs_peaks(options: dict[str, Any]) -> bool:
    return bool(options["suggest"] or options["html"] or options["create"])


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise CommandError(f"{path} cannot be written: {error.strerror or error}") from None


def _plan(options: dict[str, Any]) -> Plan:
    names = ("key", *OPTIONS, *RATE_OPTIONS)
    given = {name: options[name] for name in names if options[name] is not None}
    asked = [name for name in ("rule", "all", "rates") if options[name]]
    if asked not in (["rule"], ["all"], ["rates"], ["rule", "rates"]):
        raise ValueError("say which rules decide: --rule NAME, --all, or --rates '10/m' --key ip")
    if options["html"] and not apps.is_installed("django.contrib.admin"):
        raise ValueError("--html makes a page of the admin, which INSTALLED_APPS lacks: leave it out, or write --json")
    if options["create"] and options["all"]:
        raise ValueError("--create is about one rule: name it by --rule, or give its rates")
    if options["suggest"] and options["all"]:
        raise ValueError("--suggest is about one rule: name it by --rule, or give its rates")
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
        return backtest(log, plan, options["never"], progress, with_peaks=_needs_peaks(options))
    finally:
        line.end()
