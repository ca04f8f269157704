"""The exception of a refusal: `hit` raises it with ``raise_exception=True``, and a site's code may."""

from typing import Any

from ratewindow.limiter.types import Decision


class RateLimited(Exception):
    """A refusal; `decision` says why. The middleware answers it as it does any refusal."""

    def __init__(self, decision: Decision) -> None:
        super().__init__(f"refused by rule {decision.rule!r}: {decision.reason}")
        self.decision = decision

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled and copied by its decision, not by its message."""
        return type(self), (self.decision,), vars(self)
