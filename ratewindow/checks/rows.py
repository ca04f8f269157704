"""Checks of the rules in the database."""

import difflib
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.core import checks
from django.db import Error as DatabaseError

from ratewindow.checks.code import import_views, places_of
from ratewindow.checks.messages import Messages, error, warning
from ratewindow.checks.settings import MIDDLEWARE
from ratewindow.conf.translation import in_english
from ratewindow.rulebook import rule_rows
from ratewindow.rules import code_rates
from ratewindow.rules.coverage import coverage
from ratewindow.rules.doubts import doubts
from ratewindow.rules.matching import TOO_MANY, without_room
from ratewindow.rules.rule import Rule

# The client chooses these values: with another value in each request it is never limited.
_CHOSEN = ("header:", "cookie:", "query:", "get:", "post:", "json:", "body:")


@checks.register(checks.Tags.database)  # not TAG too: Django 6.1 would then read rows for `check --tag ratewindow`
def check_rules(app_configs: Sequence[AppConfig] | None, databases: Sequence[str] | None = None, **_: Any) -> Messages:
    """W001, W002, E004, W007, W014, W015, W018, W019, W021: problems of rules."""
    if not databases:
        return []
    import_views()
    try:
        readings = list(rule_rows.readings())
    except DatabaseError as problem:
        if sys.argv[1:2] == ["migrate"]:  # runs the checks before it creates the table
            return []
        return [warning(2, f"The rules cannot be read: {problem}", "Run manage.py migrate.")]
    rules = [rule for _, rule in readings if isinstance(rule, Rule) and rule.mode != "off"]
    wrong = [(row.name, str(problem)) for row, problem in readings if isinstance(problem, Exception)]
    wrong += [(rule.name, TOO_MANY) for rule in without_room(rules)]
    return [
        *_undefined({row.name for row, _ in readings}),
        *_left_out(wrong),
        *_without_middleware(rules),
        *_doubtful(rules),
        *_by_choice_alone([rule for rule in rules if rule.mode == "enforce"]),
        *_seeing_others(rules),
        *_by_sessions_without_keys(rules),
    ]


def _undefined(rows: set[str]) -> Iterator[checks.CheckMessage]:
    known = code_rates.uses()
    defined = rows | {name for name, uses in known.items() if any(use.rate is not None for use in uses)}
    for name in sorted(known.keys() - defined):
        near = difflib.get_close_matches(name, defined, n=1)
        add = f"Did you mean {near[0]!r}? Otherwise add" if near else "Add"
        yield warning(
            1,
            f"Code names rule {name!r}, which is not defined: requests pass.",
            f"{add} it in the admin, or give the decorator a rate. It is named in {places_of(known[name])}.",
        )


def _left_out(wrong: Iterable[tuple[str, str]]) -> Iterator[checks.CheckMessage]:
    for name, problem in wrong:
        yield error(4, f"Rule {name!r} cannot be enforced: {problem}.", "Correct it in the admin.")


def _without_middleware(rules: Iterable[Rule]) -> Iterator[checks.CheckMessage]:
    placed = [rule.name for rule in rules if rule.applies_to != "named"]
    if placed and not any(_is_ours(name) for name in getattr(settings, "MIDDLEWARE", None) or ()):
        rules_apply = f"{len(placed)} rules apply" if len(placed) > 1 else "1 rule applies"
        message = f"{rules_apply} by path or route, such as {placed[0]!r}, but the middleware is missing."
        yield warning(7, message, f"Add {MIDDLEWARE!r} to MIDDLEWARE, after AuthenticationMiddleware.")


def _is_ours(name: str) -> bool:
    """Whether this is the dotted path of our middleware, or of a subclass."""
    from django.utils.module_loading import import_string

    from ratewindow.middleware import RateWindowMiddleware

    try:
        found = import_string(name)
    except ImportError:
        return False
    return isinstance(found, type) and issubclass(found, RateWindowMiddleware)


def _doubtful(rules: Sequence[Rule]) -> Iterator[checks.CheckMessage]:
    """W014: rules for a path, a route or methods that the site does not have. W021: rules that refuse all by their cost."""
    with in_english():
        found = [doubt for _, doubt in doubts(rules, coverage(rules))]
    for doubt in found:  # calls of hit may name a rule, and a limit of 0 may be intended
        if doubt.kind in ("nowhere", "method"):
            yield warning(14, doubt.text, doubt.remedy)
        elif doubt.kind == "cost":
            yield warning(21, doubt.text, doubt.remedy)


def _by_choice_alone(rules: Sequence[Rule]) -> Iterator[checks.CheckMessage]:
    """W015: rules by values that the client chooses, with no other rule for the same requests by what it cannot choose."""
    for rule in rules:
        chosen = [part for part in rule.key.replace(" ", "").split("+") if part.startswith(_CHOSEN)]
        if chosen and len(chosen) == rule.key.count("+") + 1 and not any(_backs(other, rule) for other in rules):
            yield warning(
                15,
                f"Rule {rule.name!r} counts by {rule.key}, which clients choose: a client that sends another value each time is "
                "never refused.",
                "Add a rule by ip for the same requests, with a limit for each address.",
            )


def _backs(other: Rule, rule: Rule) -> bool:
    """Whether the other rule meets all requests of this one, by a key that clients cannot choose."""
    counts = not any(part.startswith(_CHOSEN) for part in other.key.replace(" ", "").split("+"))
    if not counts or other.name == rule.name or (other.methods and not rule.methods <= other.methods):
        return False
    match other.applies_to:
        case "all":
            return True
        case "prefix":
            return rule.applies_to in ("path", "prefix") and rule.pattern.startswith(other.pattern)
        case "named":
            return rule.applies_to == "named"  # perhaps at the same view: only code knows
        case _:
            return (rule.applies_to, rule.pattern) == (other.applies_to, other.pattern)


def _by_sessions_without_keys(rules: Iterable[Rule]) -> Iterator[checks.CheckMessage]:
    """W019: rules by session, although sessions in signed cookies have no key."""
    if not settings.SESSION_ENGINE.endswith(".signed_cookies"):
        return
    for rule in rules:
        if "session" in rule.key.replace(" ", "").split("+"):
            yield warning(
                19,
                f"Rule {rule.name!r} counts by session, and sessions in signed cookies have no key: each change makes another "
                "cookie, and the old ones stay valid. So the key is always missing.",
                "Count by user_or_ip, or store sessions on the server.",
            )


def _seeing_others(rules: Iterable[Rule]) -> Iterator[checks.CheckMessage]:
    """W018: rules that replace a rate in code, but count by another key, such as the default one."""
    known = code_rates.uses()
    for rule in rules:
        uses = {use for use in known.get(rule.name, ()) if use.rate is not None}
        keys = sorted({use.key for use in uses})
        if keys and rule.key not in keys:
            yield warning(
                18,
                f"Rule {rule.name!r} counts per {rule.key}, and the rate in code that it replaces per {' or '.join(keys)}.",
                f"Choose the same key in the admin, or, if this is intended, change the code: {places_of(uses)}.",
            )
