"""The exception of a refusal, which `hit` raises for code that asks for it by ``raise_exception=True``."""

from typing import Any

from ratewindow.limiter.types import Decision


class RateLimited(Exception):
    """A refusal; `decision` says why. The middleware answers the request as if the rule had refused it there."""

    def __init__(self, decision: Decision) -> None:
        super().__init__(f"refused by rule {decision.rule!r}: {decision.reason}")
        self.decision = decision

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled and copied by its decision, not by its message."""
        return type(self), (self.decision,), vars(self)
