"""What the store is asked about a request: rules and a request become checks, pure of any answer."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from django.http import HttpRequest

from ratewindow import conf, statekeys
from ratewindow.identity import ip
from ratewindow.limiter.limiter import MOST_COST, check_cost
from ratewindow.limiter.types import Check, Decision
from ratewindow.limiter.wire import merged, refusal_code
from ratewindow.rule import Rule

Cost = int | Callable[[HttpRequest], int]


class Question(NamedTuple):
    """What the store is asked, and what holds whatever it answers."""

    checks: list[Check]
    settled: list[Decision]  # of rules that need not ask: they refuse because their key is missing from the request
    rules: Sequence[Rule]  # that are asked about

    @property
    def refused(self) -> bool:
        """Whether something settled refuses: such a request costs nothing anywhere, so nobody is asked."""
        return any(not each.allowed for each in self.settled)


NOTHING = Question([], [], ())


def ask_about(identity: str, rule: Rule, cost: int) -> Question:
    """The check of one rule for a client that is named."""
    return Question([_check(rule, conf.current().key_prefix, identity, _units(rule, check_cost(cost)))], [], (rule,))


def ask(request: HttpRequest, rules: Sequence[Rule], cost: Cost = 1) -> Question:
    """The checks of every rule that counts this request, each for the client that the rule sees in it."""
    prefix, factor = conf.current().key_prefix, -1
    checks, settled = [], []
    for rule in rules:
        identity = rule.recipe.identity(request)
        if identity is None:
            if rule.on_missing == "refuse":
                settled.append(_missing(rule))
                continue
            if rule.on_missing == "allow":
                continue
            identity = ip(request)
        if factor < 0:
            factor = check_cost(cost(request) if callable(cost) else cost)
        checks.append(_check(rule, prefix, identity, _units(rule, factor)))
    return Question(merged(checks) if len(checks) > 1 else checks, settled, rules)


def _units(rule: Rule, factor: int) -> int:
    """What a request costs: an edited rule must not raise in a view, so a product beyond the bound is the bound."""
    return min(rule.cost * factor, MOST_COST)


def _check(rule: Rule, prefix: str, identity: str, cost: int) -> Check:
    client = statekeys.client_tag(identity)
    keys = tuple([prefix + name + client for name in rule.state_names])
    if not rule.penalty_ms and not rule.count_refused:
        return Check(rule.name, rule.windows, keys, cost, rule.mode == "enforce")
    lock = prefix + rule.lock_name + client if rule.penalty_ms else ""
    return Check(rule.name, rule.windows, keys, cost, rule.mode == "enforce", rule.count_refused, rule.penalty_ms, lock)


def _missing(rule: Rule) -> Decision:
    enforce = rule.mode == "enforce"
    return Decision(
        allowed=not enforce,
        rule=rule.name,
        mode=rule.mode,
        reason="missing",
        id=refusal_code() if enforce else "",
        outcome="refused" if enforce else "would_refuse",
    )
