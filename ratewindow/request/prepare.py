"""What the store is asked about a request: rules and a request become checks, independent of any answer."""

from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

from django.http import HttpRequest

from ratewindow import conf
from ratewindow.conf import site_functions
from ratewindow.identity import had_failure, ip, kept, parse_identity, scope, scoped
from ratewindow.limiter.keys import MOST_REMEMBERED
from ratewindow.limiter.limiter import MOST_UNITS, check_cost
from ratewindow.limiter.merging import merged
from ratewindow.limiter.reply import refusal_code
from ratewindow.limiter.types import Check, Decision
from ratewindow.rules.rule import Rule
from ratewindow.store import state_keys
from ratewindow.store.state_keys import remembered_tag

BROKEN_S = 60.0  # what a client is to wait until a function has been corrected

Cost = int | Callable[[HttpRequest], int] | Callable[[HttpRequest], Awaitable[int]]  # awaited for async views


class Question(NamedTuple):
    """What the store is asked, and what holds whatever it answers."""

    checks: list[Check]
    settled: list[Decision]  # without the store: somebody is blocked, a rule's key is missing, or a cost unknown
    rules: Sequence[Rule]  # that the checks and decisions are made by
    leased: bool = False  # whether some of its units may be leased, many at a time

    @property
    def refused(self) -> bool:
        """Whether something settled refuses: such a request costs nothing anywhere, so the store is not asked."""
        return any(not each.allowed for each in self.settled)

    def settled_for(self, refused: bool) -> list[Decision]:
        """What is settled, in a request that is refused or not: a rule in shadow would have refused one that another rule lets
        pass."""
        for each in self.settled if refused else ():
            if each.outcome == "would_refuse":
                each.outcome = "other"
        return self.settled


NOTHING = Question([], [], ())


def ask(request: HttpRequest, rules: Sequence[Rule], cost: Cost, settings: conf.Conf) -> Question:
    """The checks of every rule that counts this request, each for the client that the rule identifies in it."""
    within = scope(request) if settings.scope is not None else None
    factor, is_broken = (cost, False) if isinstance(cost, int) else (-1, False)
    checks: list[Check] = []
    settled: list[Decision] = []
    leased = False
    for rule in rules:
        parts = rule.recipe.parts
        identity = parts[0](request) if len(parts) == 1 else rule.recipe.identity(request)
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
            factor, is_broken = _computed(cost, request, rules)  # type: ignore[arg-type]  # a function
        if is_broken and policy(rule) == "refuse" and rule.enforces(state_keys.client_tag(identity)):
            settled.append(_uncounted(rule))
            continue
        checks.append(_check(rule, settings.key_prefix, identity, factor))
        leased = leased or rule.lease > 1
    return Question(merged(checks) if len(checks) > 1 else checks, settled, rules, leased)


def ask_about(who: str | tuple[str, ...], rule: Rule, cost: int, *more: Rule) -> Question:
    """The check of one rule, and of `more` that are to be asked in the same call, each for the identity as the rule writes it.
    Raises ValueError for a bad identity."""
    prefix, cost = conf.current().key_prefix, check_cost(cost)
    checks = [_check(each, prefix, parse_identity(who, each.recipe.normaliser), cost) for each in (rule, *more)]
    return Question(checks, [], (rule, *more), rule.lease > 1)


def policy(rule: Rule) -> str:
    """What holds for a rule that cannot be counted as it should: ``allow``, ``refuse`` or ``local``."""
    return rule.on_error or conf.current().on_error


def _computed(cost: Callable[[HttpRequest], int], request: HttpRequest, rules: Sequence[Rule]) -> tuple[int, bool]:
    """The cost by the site's function, and whether that fails or returns no cost: it is 1 then."""
    names = [rule.name for rule in rules]
    try:
        factor = cost(request)
        if isinstance(factor, int) and factor > MOST_UNITS:
            factor = MOST_UNITS  # what nobody could pay must not become free
        check_cost(factor)
    except Exception as error:
        holds = "requests cost what the rule says, or are refused with 503 if that is what it says of errors"
        site_functions.failed("cost", names[0], error, holds, names)
        return 1, True
    if site_functions.failing:
        site_functions.worked("cost", names[0])
    return factor, False


def _check(rule: Rule, prefix: str, identity: str, factor: int) -> Check:
    # An edited rule must not raise in a view, so a product beyond the bound is the bound.
    cost = 1 if rule.cost == factor == 1 else min(rule.cost * factor, MOST_UNITS)
    client = (remembered_tag if len(identity) <= MOST_REMEMBERED else state_keys.client_tag)(identity)
    names = rule.state_names
    keys = (prefix + names[0] + client,) if len(names) == 1 else tuple([prefix + name + client for name in names])
    who = identity if len(identity) <= MOST_REMEMBERED else kept(identity)
    if rule.is_usual:
        return Check(rule.name, rule.windows, keys, cost, rule.mode == "enforce", False, 0, "", False, 1, who)
    lock = prefix + rule.lock_name + client if rule.penalty_ms else ""
    how = (rule.enforces(client), rule.count_refused, rule.penalty_ms, lock, rule.only_looks, rule.lease, who)
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
        made_by=rule,
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
        made_by=rule,
    )
