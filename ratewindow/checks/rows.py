"""Checks of the rules in the database, and of the Redis server."""

import difflib
import sys
from collections.abc import Sequence
from contextlib import suppress

import redis
from django.db import Error as DatabaseError

from ratewindow import conf
from ratewindow.checks.site import MIDDLEWARE, Messages, error, import_views, places_of, warning
from ratewindow.conf.in_words import in_english
from ratewindow.request.doors import has_middleware
from ratewindow.rulebook import reading
from ratewindow.rules import code_rates, limits_from, matching, site_routes
from ratewindow.rules.rule import Rule
from ratewindow.store import process_clients, server_info, shared_prefix

# The client chooses these values: with another value in each request it is never limited.
_CHOSEN = ("header:", "cookie:", "query:", "get:", "post:", "json:", "body:")


def check_rules() -> Messages:
    """W002, E004, W007, and those below: problems of rules."""
    import_views()
    try:
        readings = list(reading.readings())
    except DatabaseError as problem:
        if sys.argv[1:2] != ["migrate"]:  # which runs the checks before it creates the table
            yield warning(2, f"The rules cannot be read: {problem}", "Run manage.py migrate.")
        return
    rules = [rule for _, rule in readings if isinstance(rule, Rule) and rule.mode != "off"]
    wrong = [(row.name, str(problem)) for row, problem in readings if isinstance(problem, Exception)]
    yield from _undefined({row.name for row, _ in readings})
    for name, why in [*wrong, *((rule.name, matching.TOO_MANY) for rule in matching.beyond_bounds(rules))]:
        yield error(4, f"Rule {name!r} cannot be enforced: {why}.", "Correct it in the admin.")
    placed = [rule.name for rule in rules if rule.applies_to != "named"]
    if placed and not has_middleware():
        rules_apply = f"{len(placed)} rules apply" if len(placed) > 1 else "1 rule applies"
        yield warning(
            7,
            f"{rules_apply} by path or route, such as {placed[0]!r}, but the middleware is missing.",
            f"Add {MIDDLEWARE!r} to MIDDLEWARE, after AuthenticationMiddleware.",
        )
    yield from _unregistered(rules)
    yield from _doubtful(rules)
    yield from _by_choice_alone([rule for rule in rules if rule.mode == "enforce"])


def _undefined(rows: set[str]) -> Messages:
    """W001: names in code without a rule or rate."""
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


def _unregistered(rules: Sequence[Rule]) -> Messages:
    """W025: rules that take their limits from a function that is not there."""
    for rule in rules:
        if rule.limits_from and rule.limits_from not in limits_from.registered:
            yield warning(
                25,
                f"Rule {rule.name!r} takes its limits from {rule.limits_from!r}, which no code registers: its own limits hold.",
                "Register the function in a module ratekeys of an installed app, or let the rule have its own limits.",
            )


def _doubtful(rules: Sequence[Rule]) -> Messages:
    """W014: rules for a path or route that the site does not have. W021: rules that refuse all by their cost."""
    with in_english():
        found = [doubt for rule in rules for doubt in site_routes.doubts(rule)]
    # Not the others: calls of hit may name a rule, and a limit of 0 may be intended.
    yield from (warning(14, doubt.text, doubt.remedy) for doubt in found if doubt.kind == "nowhere")
    yield from (warning(21, doubt.text, doubt.remedy) for doubt in found if doubt.kind == "cost")


def _by_choice_alone(rules: Sequence[Rule]) -> Messages:
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
    """Whether the other rule seems to match the requests of this one, by a key that clients cannot choose."""
    chosen = any(part.startswith(_CHOSEN) for part in other.key.replace(" ", "").split("+"))
    as_wide = other.applies_to in ("prefix", rule.applies_to) and rule.pattern.startswith(other.pattern)
    return not chosen and (other.applies_to == "all" or as_wide)


def check_server() -> Messages:
    """W013: the server evicts keys when its memory is full. W022: another site uses our prefix. `ratewindow check` reports a
    server that does not answer."""
    if process_clients.in_memory():
        return
    with suppress(redis.RedisError, OSError, ValueError):
        # A test run has another database: the running site would be another one.
        other = "" if conf.tests_run() else shared_prefix.other_site()
        if other:
            yield warning(
                22,
                f"{other}: its edits and its counts for rules of the same name are ours, too, and its kill switch replaces ours "
                "in Redis.",
                f"{shared_prefix.remedy()}.",
            )
        store = server_info.ask(process_clients.patient_client())
        if server_info.evicts(store):
            yield warning(
                13,
                f"Redis evicts keys when its memory is full ({store['eviction_policy']}): a client whose counts are evicted may "
                "use its whole limit again.",
                "Give the limiter a Redis of its own with maxmemory-policy noeviction.",
            )
