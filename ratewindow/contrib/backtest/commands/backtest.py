"""``manage.py ratewindow backtest``: what rules would have done with the requests of an access log, in tables or as JSON."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from django.core.management.base import CommandError

from ratewindow.conf import time_zone
from ratewindow.contrib.backtest.curve import Curve
from ratewindow.contrib.backtest.logs.log import Log, open_logs
from ratewindow.contrib.backtest.result import Bounds, Caught, Numbers, OfPeriod, Result, Seen
from ratewindow.contrib.backtest.run import Plan, backtest, of_rates, of_rule, of_site
from ratewindow.limiter.algorithms import algorithm_choices
from ratewindow.limiter.durations import format_duration
from ratewindow.management.subcommand import Subcommand, table

OF_RATES: dict[str, Mapping[str, Any]] = {  # options of a rule that is given by its rates
    "key": {"help": "with --rates alone, as the next four: who is counted together, such as ip or header:x-api-key; default ip"},
    "algorithm": {"choices": [name for name, _ in algorithm_choices()], "help": "default sliding_window"},
    "path": {"metavar": "P", "help": "one path; default all requests"},
    "prefix": {"metavar": "P", "help": "all paths below"},
    "methods": {"help": "such as POST,PUT; default all"},
}


def _backtest(options: dict[str, Any], stdout: Any) -> None:
    try:
        plan = _plan(options)
        result = backtest(open_logs(options["log"], options["format"]), plan, with_curves=options["suggest"])
    except ValueError as error:
        raise CommandError(str(error)) from None
    if options["json"]:
        stdout.write(json.dumps(_as_json(result) | (_suggested(result) if options["suggest"] else {})))
    else:
        stdout.write(_as_text(result))


def _plan(options: dict[str, Any]) -> Plan:
    given = {name: options[name] for name in OF_RATES if options[name] is not None}
    asked = [name for name in ("rule", "all", "rates") if options[name]]
    if asked not in (["rule"], ["all"], ["rates"], ["rule", "rates"]):
        raise ValueError("say which rules decide: --rule NAME, --all, or --rates '10/m' --key ip")
    if options["suggest"] and options["all"]:
        raise ValueError("--suggest is about one rule: name it by --rule, or give its rates")
    if asked == ["rates"]:
        return of_rates(options["rates"], **given)
    if given:
        raise ValueError(f"--{next(iter(given))} is for a rule that is given by --rates alone: leave it out")
    return of_site() if options["all"] else of_rule(options["rule"], options["rates"])


HEADS = ("RULE", "MODE", "LIMITS", "REQUESTS", "CLIENTS", "REFUSED", "CLIENTS REFUSED")
CAUGHT = ("CLIENT", "REQUESTS", "REFUSED", "PATHS", "STATUSES")
LISTED = 10  # clients
PATHS, LONGEST = 2, 50  # of a client; characters of a path
MOST_LIMITS = 12  # of a curve, beside those that matter


def _as_text(result: Result) -> str:
    parts = [_about(result.log, result.seen)]
    if result.reason:
        parts.append(f"No numbers. {result.reason}")
    else:
        rows = [(each.name, each.mode if each.rule else "", each.rate, *_figures(each.numbers)) for each in result.rules]
        parts.append(table(HEADS, rows if len(rows) == 1 else [*rows, ("all together", "", "", *_figures(result.total))]))
    if result.caught:
        parts.append(table(CAUGHT, [_row(each) for each in result.caught[:LISTED]]))
    if len(result.caught) > LISTED:
        parts[-1] += "\n..."
    for period in result.periods:
        parts += _period(period)
    return "\n\n".join([*parts, "\n".join(str(note) for note in result.notes)])


def _about(log: Log, seen: Seen) -> str:
    """How many requests the log has, of which time, and what of it cannot be read."""
    text = f"{seen.requests:,} requests, format {log.format or 'unknown'}"
    if seen.requests:
        text += ", from {} to {}".format(*map(time_zone.to_second, seen.times))
    if log.unreadable:
        text += f"\n{log.unreadable:,} line{'s' if log.unreadable > 1 else ''} left out:"
    return "\n  ".join([text, *map(str, log.examples)])


def _said(bounds: Bounds) -> str:
    """``4,211``, or ``4,180 to 4,211``."""
    return f"{bounds.least:,} to {bounds.most:,}" if bounds.is_open else f"{bounds.least:,}"


def _figures(numbers: Numbers) -> tuple[str, ...]:
    parts = [_said(numbers.refused)] if numbers.refused.most or not numbers.would_refuse.most else []
    parts += [f"would refuse {_said(numbers.would_refuse)}"] if numbers.would_refuse.most else []
    return f"{numbers.requests:,}", f"{numbers.clients:,}", ", ".join(parts), _said(numbers.clients_refused)


def _row(each: Caught) -> tuple[str, ...]:
    paths = ", ".join(path if len(path) <= LONGEST else f"{path[: LONGEST - 3]}..." for path in [*each.did.paths][:PATHS])
    statuses = ", ".join(f"{status} x{count:,}" for status, count in each.did.statuses.items())
    return each.name or each.client, f"{each.requests:,}", _said(each.refused), paths, statuses


def _period(period: OfPeriod) -> Iterator[str]:
    suggested = period.suggestion
    yield _table(period.curve, {period.limit: "now", suggested.limit: "suggested"})
    first = f"Suggested: {suggested.rate}." if suggested.limit is not None else "No suggestion."
    yield f"{first} {suggested.reason}"


def _table(curve: Curve, marks: dict[int | None, str]) -> str:
    """About ten limits, and what each does."""
    step, last = len(curve.points) // MOST_LIMITS + 1, curve.points[-1].limit
    heads = (f"LIMIT IN {format_duration(curve.period_ms)}", "CLIENTS", "INNOCENT", "REFUSED", "")
    rows = [
        (*(f"{each:,}" for each in (point.limit, point.caught, point.innocent, point.refused)), marks.get(point.limit, ""))
        for place, point in enumerate(curve.points)
        if not place % step or point.limit in marks or point.limit == last
    ]
    return table(heads, rows)


def _as_json(result: Result) -> dict[str, Any]:
    numbers, log, seen = _numbers(result.total), result.log, result.seen
    if result.reason:
        numbers |= {**dict.fromkeys(("refused", "would_refuse", "clients_refused")), "reason": str(result.reason)}
    return {
        **numbers,
        "log": {
            "format": log.format,
            "requests": seen.requests,
            "unreadable": log.unreadable,
            "unreadable_lines": [str(each) for each in log.examples],
            "out_of_order": log.out_of_order,
            "from": seen.times[0].isoformat() if seen.requests else None,
            "to": seen.times[1].isoformat() if seen.requests else None,
            "whole_seconds": seen.whole_seconds,
        },
        "rules": [
            {
                "name": each.name,
                "mode": each.mode,
                "rate": each.rate,
                "algorithms": [*dict.fromkeys(window.algorithm for window in each.rule.windows)] if each.rule else [],
                "key": each.rule.key if each.rule else "",
                **_numbers(each.numbers),
            }
            for each in result.rules
        ],
        "caught": [
            {
                "client": each.client,
                "name": each.name,
                "requests": each.requests,
                "refused": _bounds(each.refused),
                **each.did._asdict(),
            }
            for each in result.caught
        ],
        "notes": [str(note) for note in result.notes],
    }


def _suggested(result: Result) -> dict[str, Any]:
    """The suggestion for all limits of a rule together, or None if one of them has none, with its reason; and the curves."""
    each = [
        {
            "period": format_duration(period.suggestion.period_ms),
            "rate": period.suggestion.rate or None,
            "limit": period.suggestion.limit,
            "reason": period.suggestion.reason,
        }
        for period in result.periods
    ]
    reason = " ".join(period.suggestion.reason for period in result.periods) or str(result.reason or "The log has no request.")
    missing = [period.suggestion.reason for period in result.periods if not period.suggestion.rate]
    rates = "; ".join(period.suggestion.rate for period in result.periods)
    return {
        "suggestion": {"rate": rates, "reason": reason} if each and not missing else None,
        "reason": missing[0] if missing else reason,
        "suggestions": each,
        "curves": [
            {
                "period": format_duration(period.curve.period_ms),
                "clients": period.curve.clients,
                "likely_innocent": period.curve.innocent,
                "requests": period.curve.requests,
                "limits": [
                    {
                        "limit": point.limit,
                        "clients_caught": point.caught,
                        "likely_innocent_caught": point.innocent,
                        "requests_refused": point.refused,
                        "likely_innocent_refused": point.innocent_refused,
                    }
                    for point in period.curve.points
                ],
            }
            for period in result.periods
        ],
    }


def _bounds(bounds: Bounds) -> int | list[int]:
    """A number, or the least and the most."""
    return [bounds.least, bounds.most] if bounds.is_open else bounds.least


def _numbers(numbers: Numbers) -> dict[str, Any]:
    return {
        "requests": numbers.requests,
        "clients": numbers.clients,
        "refused": _bounds(numbers.refused),
        "would_refuse": _bounds(numbers.would_refuse),
        "clients_refused": _bounds(numbers.clients_refused),
    }


BACKTEST = Subcommand(
    NAME="backtest",
    HELP="Say what rules would have done with the requests of an access log: how many they would have refused, of which clients. "
    "One rule of the site, all of them, or one that is given by its rates. It asks no server and counts nothing. In a log of "
    "whole seconds each request is decided at the beginning of its second, and spread over it: where that differs, the "
    "answer is the least and the most.",
    arguments=[
        ("log", {"nargs": "+", "metavar": "LOG", "help": "an access log, also .gz, or - for standard input"}),
        ("--rule", {"default": "", "metavar": "NAME", "help": "a rule of the site, as if it were enforced"}),
        ("--all", {"action": "store_true", "help": "all rules of the site as they are, with blocks and exemptions"}),
        ("--rates", {"default": "", "help": "a rule by its rates, such as 10/m or '5/s; 100/m'; --rule at other rates"}),
        ("--format", {"help": "common, combined, json, or nginx's log_format; default: what it looks like"}),
        ("--suggest", {"action": "store_true", "help": "also a limit for one rule, with its reason and the curve"}),
        ("--json", {"action": "store_true", "help": "one JSON object"}),
        *((f"--{name}", options) for name, options in OF_RATES.items()),
    ],
    run=_backtest,
)
