"""What the store is asked about a request: rules and a request become checks, pure of any answer."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from django.http import HttpRequest

from ratewindow import conf, site_functions
from ratewindow.identity import had_failure, ip, scope, scoped
from ratewindow.limiter.limiter import MOST_UNITS, check_cost
from ratewindow.limiter.merging import merged
from ratewindow.limiter.reply import refusal_code
from ratewindow.limiter.types import Check, Decision
from ratewindow.overrides import Overrides
from ratewindow.request.overrides import judge
from ratewindow.rules.rule import Rule
from ratewindow.store import state_keys

BROKEN_S = 60.0  # what a client is told to wait for a function to be corrected

Cost = int | Callable[[HttpRequest], int]


class Question(NamedTuple):
    """What the store is asked, and what holds whatever it answers."""

    checks: list[Check]
    settled: list[Decision]  # that need no asking: somebody is blocked, a rule's key is missing, or a cost unknown
    rules: Sequence[Rule]  # that are asked about
    leased: bool = False  # whether some of its units may be taken many at a time

    @property
    def refused(self) -> bool:
        """Whether something settled refuses: such a request costs nothing anywhere, so nobody is asked."""
        return any(not each.allowed for each in self.settled)


NOTHING = Question([], [], ())


def ask_about(identity: str, rule: Rule, cost: int) -> Question:
    """The check of one rule for a client that is named."""
    return Question(
        [_check(rule, conf.current().key_prefix, identity, _units(rule, check_cost(cost)))], [], (rule,), rule.lease > 1
    )


def ask(request: HttpRequest, rules: Sequence[Rule], cost: Cost = 1, overrides: Overrides | None = None) -> Question:
    """The checks of every rule that counts this request, each for the client that the rule sees in it.

    `overrides` may let it pass some of the rules, hold it to other rates, or settle that it is refused.
    """
    if overrides is not None:
        rules, refused = judge(overrides.of_request(request), rules)
        if refused:
            return Question([], refused, ())
    prefix, factor, broken = conf.current().key_prefix, -1, False
    within = scope(request) if conf.current().scope is not None else None
    checks: list[Check] = []
    settled: list[Decision] = []
    leased = False
    for rule in rules:
        identity = rule.recipe.identity(request)
        if identity is None:
            if had_failure(request):
                site_functions.count("key", rule.name)
            if rule.on_missing == "refuse":
                settled.append(_missing(rule, request))
                continue
            if rule.on_missing == "allow":
                continue
            identity = ip(request)
        if within is not None:
            identity = scoped(identity, within)
        if factor < 0:
            factor, broken = _told(cost, request, rules) if callable(cost) else (check_cost(cost), False)
        if broken and policy(rule) == "refuse" and rule.enforces(state_keys.client_tag(identity)):
            settled.append(_uncounted(rule))
            continue
        checks.append(_check(rule, prefix, identity, _units(rule, factor)))
        leased = leased or rule.lease > 1
    return Question(merged(checks) if len(checks) > 1 else checks, settled, rules, leased)


def policy(rule: Rule) -> str:
    """What holds for a rule that cannot be counted as it should: ``allow``, ``refuse`` or ``local``."""
    return rule.on_error or conf.current().on_error


def _told(cost: Callable[[HttpRequest], int], request: HttpRequest, rules: Sequence[Rule]) -> tuple[int, bool]:
    """The cost that the site's function tells, and whether it fails or tells what is none: it is 1 then."""
    names = [rule.name for rule in rules]
    try:
        factor = cost(request)
        if isinstance(factor, int) and factor > MOST_UNITS:
            factor = MOST_UNITS  # as dear as can be: what nobody could pay must not become free
        check_cost(factor)
    except Exception as error:
        holds = "requests cost what the rule says, or are refused with 503 if that is what it says of errors"
        site_functions.failed("cost", names[0], error, holds, names)
        return 1, True
    if site_functions.failing:
        site_functions.worked("cost", names[0])
    return factor, False


def _units(rule: Rule, factor: int) -> int:
    """What a request costs: an edited rule must not raise in a view, so a product beyond the bound is the bound."""
    return min(rule.cost * factor, MOST_UNITS)


def _check(rule: Rule, prefix: str, identity: str, cost: int) -> Check:
    client = state_keys.client_tag(identity)
    keys = tuple([prefix + name + client for name in rule.state_names])
    if rule.is_usual:
        return Check(rule.name, rule.windows, keys, cost, rule.mode == "enforce")
    lock = prefix + rule.lock_name + client if rule.penalty_ms else ""
    how = (rule.enforces(client), rule.count_refused, rule.penalty_ms, lock, rule.only_looks, rule.lease)
    return Check(rule.name, rule.windows, keys, cost, *how)


def _uncounted(rule: Rule) -> Decision:
    """Refused, since the site's own function cannot say what the request costs."""
    return Decision(
        allowed=False,
        retry_after=BROKEN_S,
        reset_after=BROKEN_S,
        rule=rule.name,
        reason="function",
        id=refusal_code(),
        outcome="refused",
    )


def _missing(rule: Rule, request: HttpRequest) -> Decision:
    enforce = rule.enforces("" if rule.is_usual else state_keys.client_tag(ip(request)))
    return Decision(
        allowed=not enforce,
        rule=rule.name,
        mode="enforce" if enforce else "shadow",
        reason="missing",
        id=refusal_code() if enforce else "",
        outcome="refused" if enforce else "would_refuse",
    )
