"""What holds without the store: while it is away, or refuses to answer."""

from ratewindow.limiter.types import Decision
from ratewindow.question import Question


def unanswered(question: Question) -> Decision:
    """The decision on a question that the store was not asked, or did not answer."""
    reason, outcome = ("", "other") if question.refused else ("store", "passed")
    unasked = [
        Decision(rule=check.rule, reason=reason, outcome=outcome, mode="enforce" if check.enforce else "shadow")
        for check in question.checks
    ]
    return Decision.of([*question.settled, *unasked])
