"""What is raised when a caller asks for an exception instead of an answer."""

from ratewindow.limiter.types import Decision


class RateLimited(Exception):
    """A refused request; the middleware answers it with 429. `decision` says why."""

    def __init__(self, decision: Decision) -> None:
        super().__init__(f"refused by rule {decision.rule!r}: {decision.reason}")
        self.decision = decision
