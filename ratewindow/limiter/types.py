"""The plain values of the limiter: what limits, what is checked, what is answered.

===================  ===================================  ===========================================================
a decision           about                                made from
===================  ===================================  ===========================================================
`RuleDecision`       one rule                             the store's reply; or a block, a missing key, an outage
`JointDecision`      all rules that a request matches     theirs, by `Decision.of`; not of a single one that is enforced
`Decision`           either; or no rule at all            the type of both, with what anybody may read
===================  ===================================  ===========================================================

What a view has at `request.ratewindow` is a fourth, which shows that of its request (`request/visit.py`).
"""

import threading
import weakref
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, ClassVar, Literal, NamedTuple

from ratewindow.limiter.algorithms import algorithm
from ratewindow.limiter.algorithms.fixed_window import ALIGNMENTS_MS, is_timezone
from ratewindow.limiter.durations import format_duration
from ratewindow.limiter.forks import renew_lock_after_fork
from ratewindow.limiter.keys import LAYOUT, digest
from ratewindow.limiter.penalties import Penalty
from ratewindow.limiter.problem import Problem

MOST_WINDOWS = 20  # of one rule
# Of all rules that a request matches: meanwhile the server answers nobody else, at worst for five milliseconds.
MOST_IN_A_CALL = 50
MOST_BUCKETS = 3000

# What a store is asked: to charge what passes (`hit`); to say what a hit would get (`peek`); to charge what there is room for
# (`force`) or all of it (`charge`), whatever stands against it. A hit that concerns several servers of a Cluster asks each to
# `look` before any is charged, and tells those that it is then `refused`.
What = Literal["hit", "peek", "look", "force", "charge", "refused"]


class _OneOfEach(type):
    """Equal windows are one object: the many look-ups by windows then hash and compare it by its identity, in C."""

    _made: "weakref.WeakValueDictionary[Any, Any]" = weakref.WeakValueDictionary()
    _lock = threading.Lock()

    def __call__(cls, *values: Any, **options: Any) -> Any:
        made = super().__call__(*values, **options)
        with _OneOfEach._lock:
            return cls._made.setdefault((cls, made.values()), made)


renew_lock_after_fork(_OneOfEach)


@dataclass(frozen=True, eq=False)
class Window(metaclass=_OneOfEach):
    """At most `limit` units in any `period_ms` milliseconds. ValueError names a value that is out of bounds.

    `buckets` is the resolution of ``sliding_window``: limits up to it, or up to 150 a minute, 100 an hour and 75 a day,
    are exact, and above that more of them refuse fewer requests early and take more memory. `burst` is how many units
    a ``token_bucket`` or ``leaky_bucket`` admits at once. None is the algorithm's usual number of either. A
    ``fixed_window`` begins with the first hit or, `aligned_to` ``"minute"``, ``"hour"``, ``"day"``, ``"week"`` or
    ``"month"``, with the clock in `timezone`: a month at midnight of its `day`, or of its last day if it is shorter. The
    period of a month is 30 days by name, and by the calendar as long as the month.
    """

    limit: int
    period_ms: int
    algorithm: str = "sliding_window"
    buckets: int | None = None
    burst: int | None = None
    aligned_to: str = ""
    timezone: str = "UTC"
    day: int = 1

    def __post_init__(self) -> None:
        chosen = algorithm(self.algorithm if isinstance(self.algorithm, str) else repr(self.algorithm))
        for problem in chosen.problems(self):
            raise problem
        if self.aligned_to and ALIGNMENTS_MS.get(str(self.aligned_to)) != self.period_ms:
            raise Problem(
                "aligned_to {aligned_to!r} does not go with a period of {period}: write minute with 1m, hour with 1h, day with "
                "1d, week with 1w, month with 30d",
                aligned_to=self.aligned_to,
                period=format_duration(self.period_ms),
            )
        if self.aligned_to and not is_timezone(self.timezone):
            raise Problem(
                "timezone {timezone!r} is not known here: write for example UTC or Europe/Berlin", timezone=self.timezone
            )
        if not (isinstance(self.day, int) and 1 <= self.day <= (31 if self.aligned_to == "month" else 1)):
            raise Problem("day {day!r}: write 1 to 31, and add aligned_to month, or leave it out", day=self.day)
        if self.buckets is None:
            object.__setattr__(self, "buckets", chosen.default_buckets)
        if self.burst is None and chosen.default_burst:
            object.__setattr__(self, "burst", chosen.default_burst(self.limit))

    def __reduce__(self) -> tuple[Any, ...]:  # so that a copy is the same object, too
        return type(self), self.values()

    def values(self) -> tuple[Any, ...]:
        return tuple(getattr(self, each.name) for each in fields(self))

    @cached_property
    def script(self) -> str:
        """The Lua file that counts this window."""
        return algorithm(self.algorithm).script

    @cached_property
    def _arguments(self) -> tuple[str | int, ...] | None:
        if self.aligned_to:
            return None
        return (self.script, self.limit, self.period_ms, algorithm(self.algorithm).parameter(self, 0))

    def arguments(self, now_ms: int) -> tuple[str | int, ...]:
        """The script's arguments for this window; only edges of the clock depend on the time."""
        parameter = algorithm(self.algorithm).parameter
        return self._arguments or (self.script, self.limit, self.period_ms, parameter(self, now_ms))

    @cached_property
    def shape(self) -> tuple[str | int | None, ...]:
        """What makes a count meaningless when it changes; limit, buckets and burst are not among it."""
        aligned = (self.aligned_to, self.timezone) if self.aligned_to else ()
        day = (self.day,) if self.day != 1 else ()
        return (self.algorithm, self.period_ms, *aligned, *day)

    @cached_property
    def tag(self) -> str:
        """Eight characters of a key's name: an edited limit keeps its counts, another shape starts from 0."""
        return digest(f"{LAYOUT} {self.shape}", 6)

    @cached_property
    def edges_ms(self) -> tuple[int, int]:
        """The only times at which units stop counting: every so many milliseconds, and one of them; 0 for any time."""
        return algorithm(self.algorithm).edges(self)

    @cached_property
    def packed(self) -> bytes | None:
        """`arguments` in the protocol of Redis; None when they depend on the time."""
        return None if self.aligned_to else b"".join(map(bulk, self.arguments(0)))

    @cached_property
    def at_once(self) -> int:
        """The most units that can be left: of a bucket, what it admits at once."""
        return self.limit if self.burst is None else self.burst

    @cached_property
    def text(self) -> str:
        """The window as a rate: ``"5/m"``, ``"100/2h"``; by the calendar, ``"1000/month"``."""
        return f"{self.limit}/{self._period}"

    @cached_property
    def most_left(self) -> str:
        """`at_once` in a period, as a rate."""
        return f"{self.at_once}/{self._period}"

    @property
    def period(self) -> str:
        """The period for people: ``"2h"``, or ``"1month"``, which no duration is."""
        return "1month" if self.aligned_to == "month" else format_duration(self.period_ms)

    @property
    def _period(self) -> str:
        one_unit = self.period[0] == "1" and self.period[1:].isalpha()
        return self.period[1:] if one_unit else self.period


def bulk(word: str | int) -> bytes:
    """One word in the protocol of Redis."""
    text = str(word).encode()
    return b"$%d\r\n%b\r\n" % (len(text), text)


class Check(NamedTuple):
    """One rule as the limiter sees it: its windows, the key of each window's state, and what to charge.

    With a penalty, a refusal by these windows locks the identity out for so long; `lock` is the key of that.
    A check that only looks refuses like any other and charges nothing: what it counts is known later.
    """

    rule: str
    windows: tuple[Window, ...]
    keys: tuple[str, ...]
    cost: int = 1
    enforce: bool = True
    counts_refused: bool = False
    penalty_ms: Penalty = 0
    lock: str = ""
    only_looks: bool = False
    identity: str = ""  # whose requests these are, for the caller's own counts: the limiter reads only `keys`


Refunds = Sequence[tuple[Check, Sequence[int | None]]]  # the cost of each check, and when each of its windows was charged


class Flag(NamedTuple):
    """A key that is set beside a refund, and for how long."""

    key: str
    ms: int


class WindowAnswer(NamedTuple):
    """How one window stood after a decision; milliseconds count from the decision."""

    window: Window
    remaining: int  # of a soft limit less than 0 beyond it
    wait_ms: int  # 0 = there was room; -1 = there never is, the cost is above the capacity
    reset_ms: int  # when `remaining` next grows, but not before `wait_ms`; 0 = it does not
    charged_at_ms: int = -1  # the server's time under which a charge was counted; -1 = nothing was charged

    @property
    def refuses(self) -> bool:
        return self.wait_ms != 0

    @property
    def used(self) -> int:
        return self.window.at_once - self.remaining


class TooManyWindows(Problem):
    """More windows, or buckets in them, than one rule may have, or one decision."""


def too_much(windows: Sequence[Window], most: int = MOST_WINDOWS) -> Problem | None:
    """What makes these windows too many for one call of a server."""
    buckets = sum(window.buckets or 0 for window in windows)
    if len(windows) > most:
        return Problem("{count} limits, of at most {most}", count=len(windows), most=most)
    if buckets > MOST_BUCKETS:
        return Problem("{count} buckets in its limits, of at most {most}", count=buckets, most=MOST_BUCKETS)
    return None


def check_number(checks: Iterable[Check]) -> None:
    """TooManyWindows when one decision has more of them than a server may be held up for."""
    checks = tuple(checks)
    windows = [window for check in checks for window in check.windows]
    if problem := too_much(windows, MOST_IN_A_CALL):
        raise TooManyWindows(
            "one decision has {problem}, of {names:.200}: let a request match fewer rules, or give these fewer limits or buckets",
            problem=problem,
            names=", ".join(sorted({check.rule for check in checks})),
        )


@dataclass(slots=True)
class Decision:
    """What a request, or one rule of it, was answered. It is true when the request may pass.

    `limit`, `remaining` and `reset_after` describe one window, `window` as a rate: the one with the longest
    wait if the request is refused, else the one with the least room. Times are seconds from the decision.
    `reset_after` is when `remaining` next grows, by every algorithm, and after a refusal never before `retry_after`.
    At 5 per minute, the third request within a second has ``remaining`` 2, ``reset_after`` 59 to 61 and no
    ``retry_after``; the sixth has the same as its ``retry_after``: it is admitted then, and not a millisecond
    earlier, if nobody else calls.
    """

    allowed: bool = True
    limit: int | None = None
    remaining: int | None = None
    retry_after: float | None = None  # None: allowed, or refused for ever
    reset_after: float | None = None
    rule: str = ""
    window: str = ""
    reason: str = ""  # "", limit, penalty, block, cost, missing, store or function
    mode: str = "enforce"  # shadow, or soft: such a rule refuses nobody
    forced: bool = False  # it passed only because it was forced
    id: str = ""  # a short code of a refusal, also in the answer and the log

    def __bool__(self) -> bool:
        return self.allowed

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled and copied without `made_by`, which the caller may be unable to pickle."""
        return type(self), tuple(getattr(self, each.name) for each in fields(self) if each.name != "made_by")

    @property
    def decisions(self) -> tuple["Decision", ...]:
        """One decision for each rule that the request matched."""
        return self.parts

    @property
    def parts(self) -> tuple["RuleDecision", ...]:
        """The same, with what is kept of each."""
        return ()

    @property
    def deciding(self) -> "RuleDecision | None":
        """The one of these that this decision describes."""
        return None

    @staticmethod
    def of(parts: Iterable["RuleDecision"]) -> "Decision":
        """The request's decision from those of its rules: refused as soon as one of them refuses."""
        parts = tuple(parts)
        if len(parts) == 1 and parts[0].mode == "enforce":
            return parts[0]
        telling = [part for part in parts if part.mode == "enforce"]
        refused = not all(telling)
        deciding: RuleDecision | None
        if refused:
            deciding = max(telling, key=_wait)
        else:
            deciding = min((part for part in telling if part.remaining is not None), key=_room, default=None)
        shown = Decision() if deciding is None else deciding
        return JointDecision(
            allowed=not refused,
            limit=shown.limit,
            remaining=shown.remaining,
            retry_after=shown.retry_after,
            reset_after=shown.reset_after,
            rule=shown.rule,
            window=shown.window,
            reason=shown.reason,
            forced=any(part.forced for part in telling),
            id=next((part.id for part in telling if part.id), ""),
            parts=parts,
            deciding=deciding,
        )


@dataclass(slots=True, repr=False)
class RuleDecision(Decision):
    """The decision of one rule, with what is kept of it to count it in the report, to refund it, and to show it again."""

    outcome: str = "passed"  # would_refuse (in shadow, or soft), refused, or other: another rule refused
    windows: tuple[WindowAnswer, ...] = ()
    check: Check | None = None
    refunded: int = 0  # units of the charge
    # What else this rule has charged the request: once the cost was known, or by the decision that this one replaces.
    also_charged: tuple["RuleDecision", ...] = ()
    at_s: float = 0.0  # this process's clock when the store was called
    took_s: float = 0.0  # how long the store took to answer, or to fail; 0 where it was not called
    cause: str = ""  # why it was decided without the store, such as store:timeout
    by_code: bool = False  # code asked for it, by the rule's name or once the cost was known
    here: tuple[int, ...] = ()  # when its windows were charged in this process, without the store
    made_by: Any = field(default=None, compare=False)  # the caller's own rule, of which `check` is what the limiter sees
    _lock: ClassVar[threading.Lock] = threading.Lock()  # two refunds of one at the same moment must not refund it twice

    @property
    def parts(self) -> tuple["RuleDecision", ...]:
        return (self,) if self.rule else ()

    @property
    def deciding(self) -> "RuleDecision":
        return self

    @property
    def counts(self) -> bool:
        """Whether the rule counts a request that it was asked about: it has let it pass or, as a soft one, lets all pass."""
        return self.outcome == "passed" or (self.outcome == "would_refuse" and self.mode == "soft")

    def refunds(self, cost: int, with_others: bool = True) -> list[tuple[Check, list[int]]]:
        """The refunds of `cost` units of this decision's charge, and the times it was counted at, the newest charges first;
        `with_others`, also of what it has `also_charged`. All refunds of one decision together are at most what it charged; a
        refusal, which may have been counted but bought nothing, has none."""
        refunds = []
        with RuleDecision._lock:
            for charge in self._charges() if with_others else (self,):
                check, times = charge.check, [answer.charged_at_ms for answer in charge.windows]
                charged = charge.counts and not (charge.forced and charge.mode == "shadow")
                if check is None or not charged or max(times, default=-1) < 0:
                    continue
                units = min(cost, check.cost - charge.refunded)
                if units > 0:
                    charge.refunded += units
                    cost -= units
                    refunds.append((check._replace(cost=units), times))
        return refunds

    def _charges(self) -> list["RuleDecision"]:
        """All charges that this stands for, the newest first; one that came before may have been raised since."""
        found: dict[int, RuleDecision] = {}
        for other in (self, *reversed(self.also_charged)):
            found |= {id(each): each for each in (*reversed(other.also_charged), other)}
        return sorted(
            found.values(), key=lambda charge: max((each.charged_at_ms for each in charge.windows), default=-1), reverse=True
        )


@dataclass(slots=True)
class JointDecision(Decision):
    """The decision on a request that matches several rules, or one in shadow."""

    parts: tuple[RuleDecision, ...] = field(default=(), repr=False)
    deciding: RuleDecision | None = field(default=None, repr=False)  # None where nothing has been counted


renew_lock_after_fork(RuleDecision)


def _wait(part: Decision) -> float:
    if part.retry_after is None:
        return 0.0 if part.allowed else float("inf")
    return part.retry_after


def _room(part: Decision) -> tuple[float, float]:
    return (part.remaining or 0, -(part.reset_after or 0))
