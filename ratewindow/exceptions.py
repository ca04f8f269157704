"""What is raised when a caller asks for an exception instead of an answer."""

from typing import Any

from ratewindow.limiter.types import Decision


class RateLimited(Exception):
    """A refused request; the middleware answers it with 429. `decision` says why."""

    def __init__(self, decision: Decision) -> None:
        super().__init__(f"refused by rule {decision.rule!r}: {decision.reason}")
        self.decision = decision

    def __reduce__(self) -> tuple[Any, ...]:
        """Made anew by the decision, not by its words: exceptions are pickled between processes."""
        return type(self), (self.decision,), vars(self)
