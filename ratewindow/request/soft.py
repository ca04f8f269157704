"""Soft limits: over them requests pass and count on, and are told of.

The store is asked about the highest limit that its counters can have, so that there is always room, and the reply says how much
is used. Here it becomes a decision by the rule's own limits, of the mode ``soft``: it refuses nobody, and stands in no header.
"""

from collections.abc import Sequence

from ratewindow.limiter.reply import deciding
from ratewindow.limiter.types import Decision, RuleDecision, Window, WindowAnswer
from ratewindow.rules.rule import Rule


def turned_back(parts: Sequence[RuleDecision]) -> Decision:
    """The decision on a request, of parts of which those of soft rules speak of their own limits from now on."""
    for part in parts:
        if part.made_by is not None and part.made_by.soft:
            part.mode = "soft" if part.mode == "enforce" else part.mode
            if part.windows:
                _turn_back(part, part.made_by)
    return Decision.of(parts)


def _turn_back(part: RuleDecision, rule: Rule) -> None:
    own, cost = dict(zip(rule.asked, rule.windows, strict=True)), part.check.cost if part.check is not None else 0
    part.windows = tuple([_own(answer, own[answer.window], cost) for answer in part.windows])
    window, remaining, _, reset_ms, _ = deciding(part.windows)
    part.limit, part.remaining, part.window, part.reset_after = window.limit, max(0, remaining), window.text, reset_ms / 1000
    if part.outcome == "passed" and any(answer.refuses for answer in part.windows):
        part.outcome, part.reason = "would_refuse", "limit"


def _own(answer: WindowAnswer, window: Window, cost: int) -> WindowAnswer:
    """The answer for the rule's own limit: `remaining` is negative by what is used beyond it, and `wait_ms` that of a hard one.

    Where another rule refuses, a rule in shadow is not read: all its numbers are 0.
    """
    remaining = window.limit - answer.used if answer.remaining or answer.reset_ms else 0
    before = remaining + (cost if answer.charged_at_ms >= 0 else 0)
    wait_ms = (-1 if cost > window.limit else answer.reset_ms) if before < cost else 0
    return answer._replace(window=window, remaining=remaining, wait_ms=wait_ms)
