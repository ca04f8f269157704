"""``manage.py ratewindow rules``: every rule of the database, a line each."""

from typing import Any

from django.core.management.base import CommandParser

from ratewindow.commands.table import table
from ratewindow.models import RateRule

NAME = "rules"
HELP = "List the rules: mode, what each applies to, per what it counts, and its limits."
HEADS = ("RULE", "MODE", "APPLIES TO", "METHODS", "PER", "LIMITS")


def add_arguments(parser: CommandParser) -> None:
    pass


def run(options: dict[str, Any], stdout: Any) -> None:
    rows = [_row(rule) for rule in RateRule.objects.prefetch_related("windows")]
    stdout.write(table(HEADS, rows) if rows else "No rules yet: add one in the admin, or with RateRule.objects.define(...).")


def _row(rule: RateRule) -> tuple[str, ...]:
    limits = "; ".join(str(window) for window in rule.windows.all())
    place = f"{rule.applies_to} {rule.pattern}".strip()
    return rule.name, rule.mode, place, rule.methods or "all", rule.key, limits or "none: limits nothing"
