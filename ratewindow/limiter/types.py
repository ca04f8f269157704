"""The plain values of the limiter: what limits, what is asked, what is answered."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from ratewindow.limiter.algorithms import algorithm
from ratewindow.limiter.durations import format_duration


@dataclass(frozen=True)
class Window:
    """At most `limit` units in any `period_ms` milliseconds. ValueError names a value that is out of bounds.

    `buckets` is the resolution of ``sliding_window``: more of them refuse fewer requests early and take
    more memory. None is the algorithm's usual number.
    """

    limit: int
    period_ms: int
    algorithm: str = "sliding_window"
    buckets: int | None = None

    def __post_init__(self) -> None:
        chosen = algorithm(self.algorithm)
        if self.buckets is None:
            object.__setattr__(self, "buckets", chosen.default_buckets)
        for problem in chosen.problems(self.limit, self.period_ms, self.buckets):
            raise ValueError(problem)

    @cached_property
    def parameter(self) -> int:
        """What the algorithm reads beside limit and period: the width of a bucket in milliseconds."""
        return -(-self.period_ms // self.buckets) if self.buckets else 0

    @cached_property
    def shape(self) -> tuple[str, int, int | None]:
        """What makes a count meaningless when it changes; the limit is not among it."""
        return (self.algorithm, self.period_ms, self.buckets)

    @cached_property
    def text(self) -> str:
        """The window as a rate: ``"5/m"``, ``"100/2h"``."""
        period = format_duration(self.period_ms)
        one_unit = period[0] == "1" and period[1:].isalpha()
        return f"{self.limit}/{period[1:] if one_unit else period}"


class Check(NamedTuple):
    """One rule as the limiter sees it: its windows, the key of each window's state, and what to charge."""

    rule: str
    windows: tuple[Window, ...]
    keys: tuple[str, ...]
    cost: int = 1
    enforce: bool = True


class WindowAnswer(NamedTuple):
    """How one window stood after a decision; milliseconds count from the decision."""

    window: Window
    remaining: int
    wait_ms: int  # 0 = there was room; -1 = there never is, the cost is above the limit
    reset_ms: int


@dataclass(slots=True)
class Decision:
    """What a request, or one rule of it, was answered. It is true when the request may pass.

    `limit`, `remaining` and `reset_after` describe one window, `window` as a rate: the one with the longest
    wait if the request is refused, else the one with the least room. Times are seconds from the decision.
    At 5 per minute, the third request within a second has ``remaining`` 2, ``reset_after`` 59.0 (when
    ``remaining`` next grows) and no ``retry_after``; the sixth has ``retry_after`` 59.0: it is admitted
    then, and not a millisecond earlier, if nobody else calls.
    """

    allowed: bool = True
    limit: int | None = None
    remaining: int | None = None
    retry_after: float | None = None  # None: allowed, or refused for ever
    reset_after: float | None = None
    rule: str = ""
    window: str = ""
    reason: str = ""  # "", limit, cost, missing or store
    mode: str = "enforce"
    forced: bool = False
    id: str = ""  # a short code of a refusal, also in the answer and the log
    outcome: str = "passed"  # passed, would_refuse (in shadow), refused, or other: another rule refused
    windows: tuple[WindowAnswer, ...] = ()
    parts: tuple["Decision", ...] = ()
    at_s: float = 0.0  # this process's clock when the store was asked

    def __bool__(self) -> bool:
        return self.allowed

    @property
    def decisions(self) -> tuple["Decision", ...]:
        """One decision for each rule that the request met."""
        if self.parts:
            return self.parts
        return (self,) if self.rule else ()

    @classmethod
    def of(cls, parts: Iterable["Decision"]) -> "Decision":
        """The request's decision from those of its rules: refused as soon as one of them refuses."""
        parts = tuple(parts)
        if len(parts) == 1 and parts[0].mode == "enforce":
            return parts[0]
        refusals = [part for part in parts if not part.allowed]
        deciding = max(refusals, key=_wait) if refusals else min(filter(_tells, parts), key=_room, default=None)
        if deciding is None:
            return cls(parts=parts)
        return cls(
            allowed=deciding.allowed,
            limit=deciding.limit,
            remaining=deciding.remaining,
            retry_after=deciding.retry_after,
            reset_after=deciding.reset_after,
            rule=deciding.rule,
            window=deciding.window,
            reason=deciding.reason,
            forced=deciding.forced,
            id=deciding.id,
            outcome=deciding.outcome,
            windows=deciding.windows,
            parts=parts,
            at_s=deciding.at_s,
        )


def _tells(part: Decision) -> bool:
    """Whether a passing rule has a window to tell of; shadow rules tell clients nothing."""
    return part.mode == "enforce" and part.remaining is not None


def _wait(part: Decision) -> float:
    return float("inf") if part.retry_after is None else part.retry_after


def _room(part: Decision) -> tuple[float, float]:
    return (part.remaining or 0, -(part.reset_after or 0))
