"""What blocks and exemptions make of the rules that a request meets: none of them, a refusal, or another rate.

In this order: who is let pass meets no rule; who is blocked is refused before anything is counted; another rate takes
the place of a rule's limits. One for all rules that lets pass outweighs every block, one for a rule only those of it.
"""

import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from ratewindow.limiter.reply import refusal_code
from ratewindow.limiter.types import Decision
from ratewindow.overrides import ALLOW, BLOCK, RATE, Ruling
from ratewindow.rules.rule import BLOCKS, Rule

MOST_WAIT_S = 366 * 86_400.0  # who is blocked for longer need not be told when to come back


class Verdict(NamedTuple):
    """The rules that are left to ask about, and the decisions that need no asking."""

    rules: Sequence[Rule]
    settled: list[Decision]


def judge(rulings: Iterable[Ruling], rules: Sequence[Rule], forced: bool = False) -> Verdict:
    """The verdict on a request that meets `rules`, of all rulings that hold for it. What is `forced` cannot be blocked."""
    by_action: dict[str, list[Ruling]] = {ALLOW: [], BLOCK: [], RATE: []}
    for ruling in rulings:
        by_action[ruling.action].append(ruling)
    allowed = {ruling.rule for ruling in by_action[ALLOW]}
    if "" in allowed:
        return Verdict((), [])
    rules = [rule for rule in rules if rule.name not in allowed] if allowed else rules
    met = {rule.name for rule in rules}
    blocks = [] if forced else [each for each in by_action[BLOCK] if not each.rule or each.rule in met]
    if blocks:
        return Verdict((), _refusals(blocks, rules))
    return Verdict(adapted(by_action[RATE], rules), [])


def adapted(rulings: Iterable[Ruling], rules: Sequence[Rule]) -> Sequence[Rule]:
    """The rules with other rates in the place of their limits: the newest that names the rule, else the newest for all."""
    given = [ruling for ruling in rulings if ruling.action == RATE]
    if not given:
        return rules
    rates = {ruling.rule: ruling.windows for ruling in sorted(given, key=_age)}  # a newer one replaces
    return [rule.with_windows(windows) if (windows := rates.get(rule.name, rates.get(""))) else rule for rule in rules]


def _age(ruling: Ruling) -> int:
    return ruling.pk


def _refusals(blocks: Sequence[Ruling], rules: Sequence[Rule]) -> list[Decision]:
    """A decision for each rule: refused where a block is about it, and it is not only tried; else refused by another.

    A block that names a rule refuses whatever the rule's mode is: somebody has said so.
    """
    left_s = max(each.expires_s for each in blocks) - time.time()
    named = {each.rule for each in blocks}
    refused = Decision(
        allowed=False,
        retry_after=max(left_s, 0.001) if left_s <= MOST_WAIT_S else None,
        reason="block",
        id=refusal_code(),
        outcome="refused",
    )
    decisions = [
        replace(refused, rule=rule.name)
        if rule.name in named or ("" in named and rule.mode == "enforce")
        else Decision(rule=rule.name, mode=rule.mode, outcome="other")
        for rule in rules
    ]
    return decisions if any(not each.allowed for each in decisions) else [replace(refused, rule=BLOCKS), *decisions]
