"""``manage.py ratewindow suggest``: a first set of rules for this site, read from its URLconf."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import CommandError, CommandParser
from django.db import DatabaseError

from ratewindow.management.subcommands.table import table
from ratewindow.operations import presets
from ratewindow.operations.presets import Group, Preset

NAME = "suggest"
HELP = (
    "Propose a first set of rules for this site: for its logins, password resets, sign-ups, one-time codes, API, searches and "
    "exports, and for everything, each with its reason. With --create, save them in shadow, where they count and refuse nobody."
)
HEADS = ("RULE", "LIMITS", "PER", "APPLIES TO", "")


def add_arguments(parser: CommandParser) -> None:
    parser.add_argument("--create", nargs="*", metavar="RULE", help="save these rules in shadow; without names, all that are new")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(options: dict[str, Any], stdout: Any) -> None:
    try:
        groups = presets.groups()
        created = _create(groups, options["create"]) if options["create"] is not None else []
    except (DatabaseError, ImproperlyConfigured) as error:
        raise CommandError(f"The rules cannot be read: {error}. Has manage.py migrate been run?") from None
    if options["json"]:
        stdout.write(json.dumps({"rules": list(_as_values(groups)), "created": created}, indent=2))
        return
    stdout.write("\n\n".join(_section(group, created) for group in groups))
    if created:
        stdout.write(f"\nSaved in shadow: {', '.join(created)}. To enforce one: manage.py ratewindow mode RULE enforce")
    elif options["create"] is not None:
        stdout.write("\nNothing was saved: rules of the site already apply to all of these.")
    elif any(not each.used_by for group in groups for each in group.found):
        stdout.write("\nTo save all in shadow: manage.py ratewindow suggest --create; some of them: --create RULE RULE")


def _create(groups: Sequence[Group], names: Sequence[str]) -> list[str]:
    """Save the rules of these names, or all; returns the names of those that are new."""
    found = {each.name: each for group in groups for each in group.found if not each.used_by}
    if unknown := [name for name in names if name not in found]:
        raise CommandError(f"{unknown[0]!r} is no new rule here. New are: {', '.join(found) or 'none'}.")
    return [each.name for each in found.values() if (not names or each.name in names) and presets.save(each)[1]]


def _section(group: Group, created: Sequence[str]) -> str:
    head = f"{group.kind.title}. {group.kind.why}"
    if not group.found:
        return f"{head}\n{group.kind.missing}"
    return f"{head}\n{table(HEADS, [_row(each, created) for each in group.found])}"


def _row(each: Preset, created: Sequence[str]) -> tuple[str, ...]:
    place = f"{each.fields['applies_to']} {each.fields['pattern']}".strip()
    methods = f", {each.fields['methods']}" if each.fields.get("methods") else ""
    limits = each.rate + (" failed" if each.fields.get("count_when") == "login_failed" else "")
    state = "saved in shadow" if each.name in created else "a rule of the site" if each.used_by else ""
    return each.used_by or each.name, limits, each.fields["key"], place + methods, state


def _as_values(groups: Sequence[Group]) -> Iterator[dict[str, Any]]:
    for group in groups:
        for each in group.found:
            fields = {name: value for name, value in each.fields.items() if name != "description"}
            yield {
                "kind": each.kind,
                "name": each.name,
                "rate": each.rate,
                **fields,
                "reason": str(group.kind.why),
                "used_by": each.used_by or None,
            }
