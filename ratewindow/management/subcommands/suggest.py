"""``manage.py ratewindow suggest``: a first set of rules for this site, read from its URLconf."""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import CommandError, CommandParser
from django.db import DatabaseError

from ratewindow.management.few_collections import few_collections
from ratewindow.management.progress import ProgressLine
from ratewindow.management.subcommands.backtest_as_text import said
from ratewindow.management.subcommands.quiet_log import quiet_log
from ratewindow.management.subcommands.table import table
from ratewindow.operations import presets
from ratewindow.operations.backtest import as_values
from ratewindow.operations.backtest.plan import of_rates, side_by_side
from ratewindow.operations.backtest.result import Numbers
from ratewindow.operations.backtest.run import backtest
from ratewindow.operations.logs.log import open_logs
from ratewindow.operations.presets import Group, Preset
from ratewindow.rules.rule import Rule

NAME = "suggest"
HELP = (
    "Propose a first set of rules for this site: for its logins, password resets, sign-ups, one-time codes, API, searches and "
    "exports, and for everything, each with its reason; with --log, with what it would have refused there. With --create, save "
    "them in shadow, where they count and refuse nobody."
)
HEADS = ("RULE", "LIMITS", "PER", "APPLIES TO", "")


@dataclass(frozen=True)
class Tried:
    """What the rules would have done with a log, by their names, and what to know about that."""

    numbers: Mapping[str, Numbers] = field(default_factory=dict)
    notes: Sequence[str] = ()


def add_arguments(parser: CommandParser) -> None:
    parser.add_argument("--create", nargs="*", metavar="RULE", help="save these rules in shadow; without names, all that are new")
    parser.add_argument("--log", nargs="+", default=[], metavar="LOG", help="an access log to try the rules on")
    parser.add_argument("--format", help="the format of the log; default: what it looks like")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(options: dict[str, Any], stdout: Any) -> None:
    try:
        groups = presets.groups()
        tried = _try(groups, options) if options["log"] else Tried()
        created = _create(groups, options["create"]) if options["create"] is not None else []
    except (DatabaseError, ImproperlyConfigured) as error:
        raise CommandError(f"The rules cannot be read: {error}. Has manage.py migrate been run?") from None
    except ValueError as error:
        raise CommandError(str(error)) from None
    if options["json"]:
        stdout.write(json.dumps({"rules": list(_as_values(groups, tried)), "created": created, "notes": tried.notes}, indent=2))
        return
    notes = ["\n".join(tried.notes)] if tried.notes else []
    stdout.write("\n\n".join([*(_section(group, created, tried) for group in groups), *notes]))
    if created:
        stdout.write(f"\nSaved in shadow: {', '.join(created)}. To enforce one: manage.py ratewindow mode RULE enforce")
    elif options["create"] is not None:
        stdout.write("\nNothing was saved: rules of the site already apply to all of these.")
    elif any(not each.used_by for group in groups for each in group.found):
        stdout.write("\nTo save all in shadow: manage.py ratewindow suggest --create; some of them: --create RULE RULE")


def _try(groups: Sequence[Group], options: dict[str, Any]) -> Tried:
    """What each rule that is new would have refused in the log, beside the others and not after them."""
    rules = [_rule(each) for group in groups for each in group.found if not each.used_by]
    line = ProgressLine(sys.stderr)
    try:
        with quiet_log(), few_collections():
            log = open_logs(options["log"], options["format"])
            found = backtest(
                log, side_by_side(rules), (), lambda share, requests: line.show(f"{requests:,} requests", share or None)
            )
    finally:
        line.end()
    return Tried({each.name: each.numbers for each in found.rules}, list(map(str, found.notes)))


def _rule(each: Preset) -> Rule:
    fields = {name: value for name, value in each.fields.items() if name not in ("description", "applies_to", "pattern")}
    place = {each.fields["applies_to"]: each.fields["pattern"]} if each.fields["pattern"] else {}
    return of_rates(each.rate, name=each.name, **fields, **place).rules[0]


def _create(groups: Sequence[Group], names: Sequence[str]) -> list[str]:
    """Save the rules of these names, or all; returns the names of those that are new."""
    found = {each.name: each for group in groups for each in group.found if not each.used_by}
    if unknown := [name for name in names if name not in found]:
        raise CommandError(f"{unknown[0]!r} is no new rule here. New are: {', '.join(found) or 'none'}.")
    return [each.name for each in found.values() if (not names or each.name in names) and presets.save(each)[1]]


def _section(group: Group, created: Sequence[str], tried: Tried) -> str:
    head = f"{group.kind.title}. {group.kind.why}"
    if not group.found:
        return f"{head}\n{group.kind.missing}"
    return f"{head}\n{table(HEADS, [_row(each, created, tried) for each in group.found])}"


def _row(each: Preset, created: Sequence[str], tried: Tried) -> tuple[str, ...]:
    place = f"{each.fields['applies_to']} {each.fields['pattern']}".strip()
    methods = f", {each.fields['methods']}" if each.fields.get("methods") else ""
    limits = each.rate + (" failed" if each.fields.get("count_when") == "login_failed" else "")
    state = "saved in shadow" if each.name in created else "a rule of the site" if each.used_by else ""
    if (numbers := tried.numbers.get(each.name)) and not each.used_by:
        state = f"{state}, {_in_log(numbers)}".lstrip(", ")
    return each.used_by or each.name, limits, each.fields["key"], place + methods, state


def _in_log(numbers: Numbers) -> str:
    return f"met {numbers.requests:,}, would refuse {said(numbers.would_refuse)} of {said(numbers.clients_refused)} clients"


def _as_values(groups: Sequence[Group], tried: Tried) -> Iterator[dict[str, Any]]:
    for group in groups:
        for each in group.found:
            fields = {name: value for name, value in each.fields.items() if name != "description"}
            numbers = None if each.used_by else tried.numbers.get(each.name)
            yield {
                "kind": each.kind,
                "name": each.name,
                "rate": each.rate,
                **fields,
                "reason": str(group.kind.why),
                "used_by": each.used_by or None,
                "in_log": numbers and as_values.of_numbers(numbers),
            }
