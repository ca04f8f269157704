"""``manage.py ratewindow mode``: put a rule in shadow, enforce it or switch it off."""

import difflib
from contextlib import suppress
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import CommandError, CommandParser
from django.db import DatabaseError

from ratewindow.management.subcommands.rules import mode_of
from ratewindow.models import RateRule
from ratewindow.operations import lockout
from ratewindow.rulebook import rule_rows
from ratewindow.rules import code_rates
from ratewindow.rules.rule import MODES

NAME = "mode"
HELP = "Put a rule in shadow, enforce it or switch it off. This also works for a rule that refuses everybody in the admin."


def add_arguments(parser: CommandParser) -> None:
    parser.add_argument("rule", help="its name")
    parser.add_argument("mode", choices=sorted(MODES, reverse=True))
    parser.add_argument("--reason", default="", help="why, for the history")
    parser.add_argument("--yes", action="store_true", help="enforce it although it would refuse staff in the admin")


def run(options: dict[str, Any], stdout: Any) -> None:
    name, mode = options["rule"], options["mode"]
    try:
        rule = RateRule.objects.filter(name=name).first()
        if rule is None:
            raise CommandError(_unknown(name))
        before, rule.mode = rule.mode, mode
        if mode == "enforce" and before != mode and not options["yes"] and (question := _question(rule)):
            raise CommandError(question)
        rule.save(update_fields=["mode"])
    except (DatabaseError, ImproperlyConfigured) as error:
        raise CommandError(f"The rules cannot be changed: {error}. To let everything pass: manage.py ratewindow off") from None
    now = mode_of(rule)
    stdout.write(f"{name}: {now}, unchanged." if before == mode else f"{name}: {now} (was: {before}).")


def _question(rule: RateRule) -> str:
    """The warning before a rule is enforced that would refuse staff; empty otherwise, or if the row is invalid anyway."""
    with suppress(ValueError):
        for found in lockout.lockouts([rule_rows.freeze(rule)]):
            return f"{found} {lockout.last_hour(rule.name)} {lockout.REMEDY} To enforce it all the same, add --yes."
    return ""


def _unknown(name: str) -> str:
    if name in code_rates.names():
        return f"{name!r} has a rate in code and no rule: add a rule of that name, whose mode then holds."
    names = list(RateRule.objects.values_list("name", flat=True))
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.4)
    known = f"Did you mean {', '.join(near)}?" if near else f"There are: {', '.join(sorted(names)[:20]) or 'none yet'}."
    return f"There is no rule {name[:64]!r}. {known}"
