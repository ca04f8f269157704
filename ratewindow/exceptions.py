"""The exception that a refusal raises on request."""

from typing import Any

from ratewindow.limiter.types import Decision


class RateLimited(Exception):
    """A refused request; the middleware answers it with 429. `decision` says why."""

    def __init__(self, decision: Decision) -> None:
        super().__init__(f"refused by rule {decision.rule!r}: {decision.reason}")
        self.decision = decision

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled and copied by its decision, not by its message."""
        return type(self), (self.decision,), vars(self)
