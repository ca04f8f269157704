"""What blocks and exemptions make of the rules that a request meets: none of them, a refusal, or another rate.

In this order: an exempt client meets no rule; a blocked client is refused before anything is counted; another rate
replaces a rule's limits. An exemption from all rules outweighs every block, one from a single rule only that rule's.
"""

import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from ratewindow.limiter.reply import refusal_code
from ratewindow.limiter.types import Decision
from ratewindow.overrides import ALLOW, BLOCK, RATE, Ruling
from ratewindow.rules.rule import BLOCKS, Rule

MOST_WAIT_S = 366 * 86_400.0  # a block that ends later has no Retry-After


class Verdict(NamedTuple):
    """The rules that are left to ask about, and the decisions that are made without asking."""

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
    names = {rule.name for rule in rules}
    blocks = [] if forced else [each for each in by_action[BLOCK] if not each.rule or each.rule in names]
    if blocks:
        return Verdict((), _refusals(blocks, rules))
    return Verdict(adapted(by_action[RATE], rules), [])


def adapted(rulings: Iterable[Ruling], rules: Sequence[Rule]) -> Sequence[Rule]:
    """The rules with other rates instead of their limits: the newest that names the rule, else the newest for all."""
    newest_last = sorted((ruling for ruling in rulings if ruling.action == RATE), key=_age)
    if not newest_last:
        return rules
    rates = {ruling.rule: ruling.windows for ruling in newest_last}
    return [rule.with_windows(windows) if (windows := rates.get(rule.name, rates.get(""))) else rule for rule in rules]


def _age(ruling: Ruling) -> int:
    return ruling.pk


def _refusals(blocks: Sequence[Ruling], rules: Sequence[Rule]) -> list[Decision]:
    """A decision for each rule: refused if a block holds for it, and it is not in shadow; else refused by another rule.

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
        replace(refused, rule=rule.name, made_by=rule)
        if rule.name in named or ("" in named and rule.mode == "enforce")
        else Decision(rule=rule.name, mode=rule.mode, outcome="other", made_by=rule)
        for rule in rules
    ]
    return decisions if any(not each.allowed for each in decisions) else [replace(refused, rule=BLOCKS), *decisions]
