"""Candidates: what a rule would do with other limits, judged in shadow by the requests that it meets.

A request that passes is judged by both in one call. One that the rule refuses, and no other rule, is judged by its candidate in
a call of its own: a rule in shadow is not asked about what is refused. So both count the same requests, each as if it stood
there alone.
"""

from collections.abc import Collection, Iterator

from ratewindow.limiter.types import Check, Decision
from ratewindow.reporting.compared import line_name
from ratewindow.request import decide
from ratewindow.request.prepare import Question
from ratewindow.request.steps import Steps
from ratewindow.rules.rule import Rule


def judge_refused(decision: Decision, waited: str) -> Steps[None]:
    """Let the candidates of the only rule that refuses this request judge it, too."""
    refusing = [part for part in decision.decisions if part.outcome == "refused"]
    for part in decision.decisions:
        if part.check is None:  # a block refuses, or what the key counts by is missing
            continue
        if is_candidate(part) and part.outcome == "other" and all(part.rule == each.rule for each in refusing):
            yield from _judge(part, part.check, waited)


def _judge(part: Decision, check: Check, waited: str) -> Steps[None]:
    # Enforcing, so that this process remembers its refusals. What counts by the answer is taken to count: nobody will know.
    question = Question([check._replace(enforce=True, only_looks=False)], [], (part.made_by,))
    judged = yield decide.decide, decide.adecide, question, "hit", waited
    if not judged.cause:
        part.outcome = "passed" if judged.allowed else "would_refuse"


def is_candidate(part: Decision) -> bool:
    rule: Rule | None = part.made_by
    return rule is not None and rule.is_candidate


def compared(parts: Collection[Decision]) -> Collection[Decision]:
    """What reports count of these decisions: instead of a candidate's own, the comparison with its rule's."""
    return list(_compared(parts)) if any(map(is_candidate, parts)) else parts


def _compared(parts: Collection[Decision]) -> Iterator[Decision]:
    by_rule = {part.rule: part for part in parts if not is_candidate(part)}
    for part in parts:
        if not is_candidate(part):
            yield part
        elif part.cause or (own := by_rule.get(part.rule)) is None:
            continue
        elif outcome := _COMPARED.get((own.outcome, part.outcome)):
            yield Decision(rule=line_name(part.rule, part.made_by.windows), outcome=outcome, check=part.check)


_COMPARED = {  # what a rule and its candidate decide, and as which outcome of the comparison that is counted
    ("passed", "passed"): "passed",
    ("passed", "would_refuse"): "would_refuse",  # only the candidate would refuse it
    ("refused", "passed"): "refused",  # only the rule refuses it
    ("refused", "would_refuse"): "other",  # both
}
