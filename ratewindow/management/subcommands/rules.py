"""``manage.py ratewindow rules``: list every rule in the database and every rate in code."""

from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import CommandError, CommandParser
from django.db import DatabaseError

from ratewindow.management.subcommands import routes
from ratewindow.management.subcommands.table import table
from ratewindow.models import RateRule, RuleWindow
from ratewindow.rules import code_rates
from ratewindow.rules.code_rates import CodeRate
from ratewindow.rules.count_when import counts_always

NAME = "rules"
HELP = (
    "List the rules in the database and the rates in code, with mode, what they apply to, key and limits. With --routes, list "
    "the site's routes with the rules that meet them, those first that no rule meets."
)
HEADS = ("RULE", "MODE", "APPLIES TO", "METHODS", "PER", "LIMITS")


def add_arguments(parser: CommandParser) -> None:
    parser.add_argument("--routes", action="store_true", help="list the site's routes with the rules that meet them")


def run(options: dict[str, Any], stdout: Any) -> None:
    try:
        lines = routes.listing() if options["routes"] else listing()
    except (DatabaseError, ImproperlyConfigured) as error:
        raise CommandError(f"The rules cannot be read: {error}. Has manage.py migrate been run?") from None
    stdout.write(lines)


def listing() -> str:
    rows = [_row(rule) for rule in RateRule.objects.prefetch_related("windows")] + list(_in_code())
    if not rows:
        return "No rules yet: add one in the admin, or in code with ratewindow.limit, @ratelimit or RateRule.objects.define."
    return table(HEADS, sorted(rows))


def _row(rule: RateRule) -> tuple[str, ...]:
    limits = "; ".join(map(_limit, rule.windows.all()))
    place = f"{rule.applies_to} {rule.pattern}".strip()
    if limits and not counts_always(rule.count_when):
        limits += f" when {rule.count_when}{', charged first' if rule.hold else ''}"
    return rule.name, mode_of(rule), place, rule.methods or "all", rule.key, limits or "none: limits nothing"


def _limit(window: RuleWindow) -> str:
    """As a rate; the problem of a limit that is invalid, which only raw SQL or a fixture can write."""
    try:
        return window.freeze().text
    except ValueError as error:
        return f"wrong: {error}"


def mode_of(rule: RateRule) -> str:
    """``enforce``, or ``enforce 10 %``."""
    return f"{rule.mode} {rule.enforce_percent} %" if rule.mode == "enforce" and rule.enforce_percent < 100 else rule.mode


def _in_code() -> list[tuple[str, ...]]:
    rated = [use for name in code_rates.names() for use in code_rates.rated(name)]
    return [(use.name, "in code", use.place, ",".join(sorted(use.methods)), use.key, _limits_in_code(use)) for use in rated]


def _limits_in_code(use: CodeRate) -> str:
    """``5/m, burst=20``, as it stands in the code."""
    return ", ".join(filter(None, (use.words, use.options.words)))
