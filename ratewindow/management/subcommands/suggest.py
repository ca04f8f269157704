"""``manage.py ratewindow suggest``: a first set of rules for this site, read from its URLconf."""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
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
from ratewindow.operations.backtest.tried_presets import Tried, save, tried
from ratewindow.operations.logs.log import open_logs
from ratewindow.operations.presets import Group, Preset

NAME = "suggest"
HELP = (
    "Propose a first set of rules for this site: for its logins, password resets, sign-ups, one-time codes, API, searches and "
    "exports, and for everything, each with its reason; with --log, with what it would have refused there, and at the rate that "
    "the log suggests, where it says enough for that. With --create, save them in shadow, where they count and refuse nobody."
)
HEADS = ("RULE", "LIMITS", "PER", "APPLIES TO", "")


def add_arguments(parser: CommandParser) -> None:
    parser.add_argument(
        "--create",
        nargs="*",
        metavar="RULE",
        help="save these rules in shadow, each with the others for the same requests; without names, all that are new",
    )
    parser.add_argument("--log", nargs="+", default=[], metavar="LOG", help="an access log to try the rules on")
    parser.add_argument("--format", help="the format of the log; default: what it looks like")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(options: dict[str, Any], stdout: Any) -> None:
    try:
        groups = presets.groups()
        found = _try(groups, options) if options["log"] else {}
        if found:
            groups = [_at_their_rates(group, found) for group in groups]
        created = _create(groups, options, found) if options["create"] is not None else []
    except (DatabaseError, ImproperlyConfigured) as error:
        raise CommandError(f"The rules cannot be read: {error}. Has manage.py migrate been run?") from None
    except ValueError as error:
        raise CommandError(str(error)) from None
    notes = _notes(found)
    if options["json"]:
        all_notes = [*(note for group in groups for note in group.notes), *notes]
        stdout.write(json.dumps({"rules": list(_as_values(groups, found)), "created": created, "notes": all_notes}, indent=2))
        return
    stdout.write("\n\n".join([*(_section(group, created, found) for group in groups), *(["\n".join(notes)] if notes else [])]))
    if created:
        stdout.write(f"\nSaved in shadow: {', '.join(created)}. To enforce one: manage.py ratewindow mode RULE enforce")
    elif options["create"] is not None:
        stdout.write("\nNothing was saved: rules of the site already apply to all of these.")
    elif any(not each.used_by for group in groups for each in group.found):
        stdout.write("\nTo save all in shadow: manage.py ratewindow suggest --create; some of them: --create RULE RULE")


def _try(groups: Sequence[Group], options: dict[str, Any]) -> dict[str, Tried]:
    """Each rule that is new, by its name: beside the others and not after them."""
    line = ProgressLine(sys.stderr)
    try:
        with quiet_log(), few_collections():
            log = open_logs(options["log"], options["format"])
            new = [each for group in groups for each in group.found if not each.used_by]
            found = tried(new, log, lambda share, requests: line.show(f"{requests:,} requests", share or None))
    finally:
        line.end()
    return {each.preset.name: each for each in found}


def _at_their_rates(group: Group, found: Mapping[str, Tried]) -> Group:
    return replace(group, found=tuple(each if each.used_by else found[each.name].preset for each in group.found))


def _notes(found: Mapping[str, Tried]) -> list[str]:
    """What the log does not say; that it has no request for a rule stands beside that already."""
    return list(dict.fromkeys(str(note) for each in found.values() for note in each.found.notes if note.kind != "unmet"))


def _create(groups: Sequence[Group], options: dict[str, Any], tried_on: Mapping[str, Tried]) -> list[str]:
    """Save the rules of these names with those for the same requests, or all; returns the names of those that are new."""
    names, log = options["create"], ", ".join(Path(each).name for each in options["log"])
    found = {each.name: each for group in groups for each in group.found if not each.used_by}
    if unknown := [name for name in names if name not in found]:
        raise CommandError(f"{unknown[0]!r} is no new rule here. New are: {', '.join(found) or 'none'}.")
    places = {found[name].place for name in names}
    chosen = [each for each in found.values() if not names or each.place in places]
    saved = [save(tried_on[each.name], log) if each.name in tried_on else presets.save(each)[1] for each in chosen]
    return [each.name for each, is_new in zip(chosen, saved, strict=True) if is_new]


def _section(group: Group, created: Sequence[str], found: Mapping[str, Tried]) -> str:
    head = f"{group.kind.title}. {group.kind.why}"
    if not group.found:
        return "\n".join([head, str(group.kind.missing), *group.notes])
    parts = [f"{each.name}: {each.why}" for each in group.found if not each.used_by and group.kind.parts]
    reasons = [f"{each.name}: {found[each.name].why}" for each in group.found if not each.used_by and found]
    rows = table(HEADS, [_row(each, created, found) for each in group.found])
    return "\n".join([head, rows, *parts, *reasons, *group.notes])


def _row(each: Preset, created: Sequence[str], found: Mapping[str, Tried]) -> tuple[str, ...]:
    place = f"{each.fields['applies_to']} {each.fields['pattern']}".strip()
    methods = f", {each.fields['methods']}" if each.fields.get("methods") else ""
    limits = each.rate + (" failed" if each.fields.get("count_when") == "login_failed" else "")
    state = "saved in shadow" if each.name in created else "a rule of the site" if each.used_by else ""
    if found and not each.used_by:
        state = f"{state}, {_in_log(found[each.name])}".lstrip(", ")
    return each.used_by or each.name, limits, each.fields["key"], place + methods, state


def _in_log(one: Tried) -> str:
    numbers, rate = one.found.total, f"{one.usual} " if one.usual != one.preset.rate else ""
    return f"met {numbers.requests:,}, {rate}would refuse {said(numbers.would_refuse)} of {said(numbers.clients_refused)} clients"


def _as_values(groups: Sequence[Group], found: Mapping[str, Tried]) -> Iterator[dict[str, Any]]:
    for group in groups:
        for each in group.found:
            fields = {name: value for name, value in each.fields.items() if name != "description"}
            one = None if each.used_by else found.get(each.name)
            yield {
                "kind": each.kind,
                "name": each.name,
                "rate": each.rate,
                **fields,
                "reason": each.why,
                "used_by": each.used_by or None,
                "in_log": one and as_values.of_numbers(one.found.total),
                "usual_rate": one.usual if one else each.rate,  # which the numbers of the log are about
                "rate_reason": one and one.why,
            }
