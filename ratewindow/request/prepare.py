"""What the store is asked about a request: rules and a request become checks, independent of any answer.

Before that, blocks and exemptions apply, in this order: an exempt client is counted by no rule; a blocked client is refused
before anything is counted; another rate replaces a rule's limits. An exemption from all rules outweighs every block, one from
a single rule only that rule's.
"""

import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import NamedTuple

from django.http import HttpRequest

from ratewindow import conf
from ratewindow.conf import site_functions
from ratewindow.identity import had_failure, ip, kept, parse_identity, scope, scoped
from ratewindow.limiter.arguments import MOST_UNITS, check_cost, merged
from ratewindow.limiter.keys import MOST_REMEMBERED
from ratewindow.limiter.redis import faults
from ratewindow.limiter.reply import refusal_code
from ratewindow.limiter.types import Check, Decision, RuleDecision
from ratewindow.overrides.lookup import ALLOW, BLOCK, RATE, Ruling
from ratewindow.rules import limits_from
from ratewindow.rules.rule import BLOCKS, Rule
from ratewindow.store.state_keys import client_tag

MOST_WAIT_S = 366 * 86_400.0  # a block that ends later has no Retry-After
LONG = 0.1  # of `TIMEOUT`: a request that has waited for so long does not wait again

Who = HttpRequest | str | tuple[str, ...]
Cost = int | Callable[[HttpRequest], int] | Callable[[HttpRequest], Awaitable[int]]  # awaited for async views


class Question(NamedTuple):
    """What the store is asked, and what holds whatever it answers."""

    checks: list[Check]
    settled: list[RuleDecision]  # without the store: somebody is blocked, or a rule's key is missing
    rules: Sequence[Rule]  # that the checks and decisions are made by
    waited: str = ""  # why the request has waited for the store without an answer before: it is not asked again

    @property
    def refused(self) -> bool:
        """Whether something settled refuses: such a request costs nothing anywhere, so the store is not asked."""
        return any(not each.allowed for each in self.settled)

    def settled_for(self, refused: bool) -> list[RuleDecision]:
        """What is settled, in a request that is refused or not: a rule in shadow would have refused one that another rule lets
        pass."""
        for each in self.settled if refused else ():
            if each.outcome == "would_refuse":
                each.outcome = "other"
        return self.settled

    def after(self, decision: Decision) -> "Question":
        """This question of a request with that decision so far: it does not wait for the store twice."""
        cause = waited(decision)
        return self._replace(waited=cause) if cause else self


def ask(request: HttpRequest, rules: Sequence[Rule], cost: Cost, settings: conf.Conf) -> Question:
    """The checks of every rule that counts this request, each for the client that the rule identifies in it."""
    within = scope(request) if settings.scope is not None else None
    factor = cost if isinstance(cost, int) else -1
    checks: list[Check] = []
    settled: list[RuleDecision] = []
    for number, rule in enumerate(rules):
        identity = client_of(rule, request, within)
        if identity is None:
            if rule.on_missing == "refuse":
                settled.append(_missing(rule, request))
            continue
        if rule.limits_from:
            rule = limits_from.taken(rule, request, identity)
            rules = [*rules[:number], rule, *rules[number + 1 :]]
        if factor < 0:
            factor = _computed(cost, request, rules)  # type: ignore[arg-type]  # a function
        checks.append(_check(rule, settings.key_prefix, identity, factor))
    return Question(merged(checks) if len(checks) > 1 else checks, settled, rules)


def client_of(rule: Rule, request: HttpRequest, within: str | None) -> str | None:
    """Whom the rule counts the request for, in that scope; None where its key is missing, and no address is counted instead."""
    parts = rule.recipe.parts
    identity = parts[0](request) if len(parts) == 1 else rule.recipe.identity(request)
    if identity is None:
        if had_failure(request):
            site_functions.count("key", rule.name)
        if rule.on_missing != "ip":
            return None
        identity = ip(request)
    return identity if within is None else scoped(identity, within)


async def load(rules: Iterable[Rule], request: HttpRequest) -> None:
    """Fetch what the checks of these rules are made of, without blocking the event loop."""
    for rule in rules:
        if rule.recipe.loaders:
            await rule.recipe.load(request)
        if not rule.limits_from:
            continue
        with site_functions.unreported():  # `ask` reports a key that fails
            identity = client_of(rule, request, scope(request))
        if identity is not None:
            await limits_from.ataken(rule, request, identity)


def ask_about(who: str | tuple[str, ...], rules: Sequence[Rule], cost: int) -> Question:
    """The checks of rules, each for the identity as the rule writes it. ValueError names a bad identity, also without any."""
    prefix, cost = conf.current().key_prefix, check_cost(cost)
    if not rules:
        parse_identity(who)
    identities = [parse_identity(who, rule.recipe.normaliser) for rule in rules]
    rules = [
        limits_from.taken(rule, who, identity) if rule.limits_from else rule
        for rule, identity in zip(rules, identities, strict=True)
    ]
    checks = [_check(rule, prefix, identity, cost) for rule, identity in zip(rules, identities, strict=True)]
    return Question(checks, [], rules)


def waited(decision: Decision) -> str:
    """Why a request with this decision so far has waited for the store without an answer, or empty. It does not wait twice: its
    later questions are decided without the store. An error that came at once does not count: it cost nothing, and may be
    about another server or rule. Nor does one about this client alone."""
    asked = (each for part in decision.parts for each in (part, *part.also_charged))
    return next((each.cause for each in asked if each.cause and _was_long(each)), "")


def _was_long(part: RuleDecision) -> bool:
    concerns = faults.named(part.cause.removeprefix("store:")).concerns
    return part.took_s >= LONG * conf.current().timeout_s and concerns is faults.Concerns.SERVER


def policy(rule: Rule) -> str:
    """What holds for a rule that cannot be counted as it should: ``allow``, as for each that refuses nobody, ``refuse`` or
    ``local``."""
    return "allow" if rule.soft else rule.on_error or conf.current().on_error


def _computed(cost: Callable[[HttpRequest], int], request: HttpRequest, rules: Sequence[Rule]) -> int:
    """The cost by the site's function; 1 if that fails or returns no cost."""
    try:
        factor = cost(request)
        if isinstance(factor, int) and factor > MOST_UNITS:
            factor = MOST_UNITS  # what nobody could pay must not become free
        return check_cost(factor)
    except Exception as error:
        names = [rule.name for rule in rules]
        site_functions.failed("cost", names[0], error, "requests cost what the rule says", names)
        return 1


def _check(rule: Rule, prefix: str, identity: str, factor: int) -> Check:
    # An edited rule must not raise in a view, so a product beyond the bound is the bound.
    cost = 1 if rule.cost == factor == 1 else min(rule.cost * factor, MOST_UNITS)
    client = (client_tag if len(identity) <= MOST_REMEMBERED else client_tag.__wrapped__)(identity)
    names = rule.state_names
    keys = (prefix + names[0] + client,) if len(names) == 1 else tuple([prefix + name + client for name in names])
    who = identity if len(identity) <= MOST_REMEMBERED else kept(identity)
    if rule.is_usual:
        return Check(rule.name, rule.asked, keys, cost, rule.mode == "enforce", False, 0, "", False, who)
    lock = prefix + rule.lock_name + client if rule.penalty_ms else ""
    how = (rule.enforces(client), rule.count_refused, rule.penalty_ms, lock, rule.only_looks, who)
    return Check(rule.name, rule.asked, keys, cost, *how)


def _missing(rule: Rule, request: HttpRequest) -> RuleDecision:
    client = client_tag(ip(request))
    enforce = rule.enforces(client)
    return RuleDecision(
        allowed=not enforce,
        rule=rule.name,
        mode="enforce" if enforce else "shadow",
        reason="missing",
        id=refusal_code(rule.name + client) if enforce else "",
        outcome="refused" if enforce else "would_refuse",
        made_by=rule,
    )


class Verdict(NamedTuple):
    """The rules that are left to ask about, and the decisions that are made without asking."""

    rules: Sequence[Rule]
    settled: list[RuleDecision]


def judge(rulings: Sequence[Ruling], rules: Sequence[Rule], who: Who, forced: bool = False) -> Verdict:
    """The verdict on a request that matches `rules`, of all rulings that hold for it, or for an identity. What is `forced` cannot
    be blocked."""
    allowed = {each.rule for each in rulings if each.action == ALLOW}
    if "" in allowed:
        return Verdict((), [])
    rules = [rule for rule in rules if rule.name not in allowed] if allowed else rules
    names = {rule.name for rule in rules}
    blocks = [] if forced else [each for each in rulings if each.action == BLOCK and (not each.rule or each.rule in names)]
    return Verdict((), _refusals(blocks, rules, who)) if blocks else Verdict(adapted(rulings, rules), [])


def adapted(rulings: Iterable[Ruling], rules: Sequence[Rule]) -> Sequence[Rule]:
    """The rules with other rates instead of their limits: the newest that names the rule, else the newest for all."""
    newest_last = sorted((ruling for ruling in rulings if ruling.action == RATE), key=attrgetter("pk"))
    if not newest_last:
        return rules
    rates = {ruling.rule: ruling.windows for ruling in newest_last}
    return [
        rule.with_windows(limits_from.like(windows, rule.windows)) if (windows := rates.get(rule.name, rates.get(""))) else rule
        for rule in rules
    ]


def _refusals(blocks: Sequence[Ruling], rules: Sequence[Rule], who: Who) -> list[RuleDecision]:
    """A decision for each rule: refused if a block holds for it, and it is not in shadow; else refused by another rule.

    A block that names a rule refuses whatever the rule's mode is: somebody has said so.
    """
    left_s = max(each.expires_s for each in blocks) - time.time()
    named = {each.rule for each in blocks}
    refused = RuleDecision(
        allowed=False,
        retry_after=max(left_s, 0.001) if left_s <= MOST_WAIT_S else None,
        reason="block",
        id=refusal_code(BLOCK + client_tag.__wrapped__(parse_identity(who) if isinstance(who, str | tuple) else ip(who))),
        outcome="refused",
    )
    decisions = [
        replace(refused, rule=rule.name, made_by=rule)
        if rule.name in named or ("" in named and rule.mode == "enforce")
        else RuleDecision(rule=rule.name, mode=rule.mode, outcome="other", made_by=rule)
        for rule in rules
    ]
    return decisions if any(not each.allowed for each in decisions) else [replace(refused, rule=BLOCKS), *decisions]
