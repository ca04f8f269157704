"""The meter of `token_bucket` and `leaky_bucket`: a level that each unit raises and that drains evenly.

The level is counted in units x period_ms and falls by `limit` for each millisecond, so that all numbers
are whole. The generic cell rate algorithm (ITU-T I.371) keeps a time instead; a level also holds when a
limit is edited:

* A raised limit is taken to have held since the newest charge, so that asking in between changes no wait.
* A lowered limit holds from the first hit under it on.

`Meter` counts in the memory store, and ``lua/algorithms/meter.lua`` on Redis, function for function: an edit is made in both.
What its methods promise stands at `Reading`.
"""

from ratewindow.limiter.algorithms import MOST_UNIT_MS, Algorithm, Measure
from ratewindow.limiter.problem import translatable

State = tuple[int, int, int]


def burst(window: Measure, now_ms: int = 0) -> int:
    """How many units fit at once."""
    return window.burst or 0


class Meter:
    """`stored`: the time of the newest charge, the level then, and the limit of that time, by which it falls."""

    def __init__(self, window: Measure, stored: State | None, now_ms: int) -> None:
        self.limit, self.period = window.limit, window.period_ms
        self.capacity = burst(window) if window.limit else 0
        self.time, self.level = -1, 0
        self.newest, self.rate = now_ms, window.limit
        self.discarded = stored is not None and stored[0] - now_ms > self.period
        self.stored: State | None = None if self.discarded else stored
        if self.stored is not None:
            charged_at, level, limit = self.stored
            self.newest, self.rate = max(now_ms, charged_at), max(limit, self.limit)
            self.level = max(0, level - (self.newest - charged_at) * self.rate) if self.limit else 0

    @property
    def settled(self) -> State | None:
        return (self.newest, self.level, self.limit) if self.level and self.rate != self.limit else None

    @property
    def room(self) -> int:
        return (self.capacity * self.period - self.level) // self.period

    @property
    def empty(self) -> bool:
        return not self.level

    def _rise(self, level: int) -> None:
        """A level that never drains would never expire: at limit 0 nothing is kept of it."""
        self.time, self.level, self.rate = self.newest, level, self.limit
        if self.limit:
            self.stored = self.newest, level, self.limit

    def charge(self, cost: int) -> None:
        self._rise(min(MOST_UNIT_MS, self.level + cost * self.period))

    def count(self, cost: int) -> None:
        most = min(MOST_UNIT_MS, (self.capacity + 1) * self.period)
        if self.level < most:
            self._rise(min(most, self.level + cost * self.period))

    def refund(self, cost: int, time_ms: int | None) -> None:
        """What has drained since that charge is gone already, by whichever of its limit and the newest charge's is higher.

        The time and the rate of what is stored stay, since a raised limit may have drained more than these say.
        """
        back = cost * self.period - (0 if time_ms is None else (self.newest - time_ms) * self.rate)
        if self.stored is not None and back > 0:
            charged_at, level, limit = self.stored
            level -= back
            self.stored = (charged_at, level, limit) if level > (self.newest - charged_at) * limit else None

    def wait(self, cost: int) -> int:
        above = self.level + (cost - self.capacity) * self.period
        return self.newest - (-above // self.limit)  # rounded up


TOKEN_BUCKET = Algorithm(
    name="token_bucket",
    label=translatable("Token bucket"),
    help=translatable(
        "Allows a burst at once (the limit, unless you say otherwise), refilled evenly at limit per period. "
        "At worst burst + limit - 1 pass in one window."
    ),
    reading=Meter,
    script="meter",
    parameter=burst,
    takes_what_is_left=True,
    default_burst=lambda limit: max(1, limit),
)
LEAKY_BUCKET = Algorithm(
    name="leaky_bucket",
    label=translatable("Leaky bucket"),
    help=translatable(
        "Spaces requests evenly, period / limit apart; burst (1, unless you say otherwise) of them may come "
        "at once. At worst burst + limit - 1 pass in one window."
    ),
    reading=Meter,
    script="meter",
    parameter=burst,
    takes_what_is_left=True,
    default_burst=lambda limit: 1,
)
