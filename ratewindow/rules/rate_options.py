"""The options of a rate in code: what a rule in the admin says besides key, methods and limits, by keyword.

Each is named as the field of a rule, except `status`, and has its meaning. They are checked when the module is imported.
"""

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from datetime import timedelta
from functools import cached_property
from typing import Any, TypedDict

from django.conf import settings

from ratewindow.limiter.algorithms.base import DAY_MS, MOST_UNIT_MS
from ratewindow.limiter.algorithms.fixed_window import ALIGNMENTS_MS
from ratewindow.limiter.durations import UNITS_MS, format_duration, parse_duration
from ratewindow.limiter.limiter import MOST_COST
from ratewindow.limiter.rates import parse_rates
from ratewindow.limiter.types import Window, too_much
from ratewindow.rules import count_when as counting
from ratewindow.rules.rule import ON_ERROR, ON_MISSING, check_hold, check_lease

MODES = ("enforce", "shadow")
LONGEST_MESSAGE = 300  # characters, as in the admin
_OTHER_NAMES = {"response_status": "status"}


class CallOptions(TypedDict, total=False):
    """What a rate in a call, such as `hit`, can say."""

    algorithm: str
    burst: int | None
    buckets: int | None
    aligned_to: str
    mode: str
    on_missing: str
    on_error: str
    count_refused: bool
    penalty: str | timedelta | None
    lease: int
    status: int
    message: str


class ViewOptions(CallOptions, total=False):
    """What a rate at a view can say: it can also wait for the answer."""

    count_when: str
    hold: bool


@dataclass(frozen=True)
class Options:
    """The options of one rate, with the defaults of a rule in the admin; only `mode` begins with ``enforce``."""

    algorithm: str = "sliding_window"
    burst: int | None = None
    buckets: int | None = None
    aligned_to: str = ""
    mode: str = "enforce"
    on_missing: str = "ip"
    on_error: str = ""
    count_when: str = counting.ALWAYS
    hold: bool = False
    count_refused: bool = False
    penalty_ms: int = 0
    lease: int = 1
    status: int = 429
    message: str = ""
    inherited: frozenset[str] = frozenset()  # of a call: options that other code gives, which hold where its rate can have them

    def __hash__(self) -> int:  # caches of rules are keyed by it
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash(tuple(getattr(self, each.name) for each in fields(self)))

    @property
    def of_limits(self) -> dict[str, Any]:
        """Those that each limit of the rate has."""
        return {name: getattr(self, name) for name in OF_LIMITS}

    @property
    def of_rule(self) -> dict[str, Any]:
        """The others, as fields of a row."""
        same = ("mode", "on_missing", "on_error", "count_when", "hold", "count_refused", "lease", "message")
        penalty = timedelta(milliseconds=self.penalty_ms) if self.penalty_ms else None
        return {**{name: getattr(self, name) for name in same}, "response_status": self.status, "penalty": penalty}

    @cached_property
    def given(self) -> dict[str, Any]:
        """What differs from the defaults, by keyword."""
        said = {each.name: getattr(self, each.name) for each in fields(self) if getattr(self, each.name) != each.default}
        said.pop("inherited", None)
        if "penalty_ms" in said:
            said["penalty"] = format_duration(said.pop("penalty_ms"))
        return said

    @cached_property
    def words(self) -> str:
        """What differs from the defaults, as it stands in code: ``burst=20, mode='shadow'``."""
        return ", ".join(f"{name}={value!r}" for name, value in self.given.items())

    def windows(self, rate: str) -> tuple[Window, ...]:
        """The limits of a rate, each with these options. Raises ValueError."""
        try:
            return windows(rate, **self.of_limits)
        except ValueError:
            if not self.inherited:
                raise
        return self.without(self.inherited).windows(rate)

    def without(self, names: Iterable[str]) -> "Options":
        """These options, those of some names by default, and no other inherited."""
        return replace(self, inherited=frozenset(), **{name: getattr(USUAL, name) for name in names})


USUAL = Options()
OF_LIMITS = ("algorithm", "burst", "buckets", "aligned_to")


class _Seen:
    """Whether any rate in code counts by the answer: guards then look for it."""

    counts_by_answer = False


seen = _Seen()


def windows(
    rate: str, algorithm: str = "sliding_window", burst: int | None = None, buckets: int | None = None, aligned_to: str = ""
) -> tuple[Window, ...]:
    """The limits of a rate, each with these options. Raises ValueError."""
    parsed = parse_rates(rate)
    if algorithm == "sliding_window" and burst is buckets is None and aligned_to == "":
        return parsed
    timezone = settings.TIME_ZONE if aligned_to else "UTC"
    made = tuple(Window(each.limit, each.period_ms, algorithm, buckets, burst, aligned_to, timezone) for each in parsed)
    if problem := too_much(made):
        raise ValueError(f"rate {rate!r} has {problem}: give it fewer")
    return made


def said(window: Window) -> dict[str, Any]:
    """The options of a limit as columns of its row, which are empty where the algorithm has its usual number."""
    usual = Window(window.limit, window.period_ms, window.algorithm)
    unsaid = {name: None for name in ("burst", "buckets") if getattr(window, name) == getattr(usual, name)}
    return {**{name: getattr(window, name) for name in OF_LIMITS}, **unsaid}


def parse_options(
    given: Mapping[str, Any], of: str = "ratelimit()", known: type = ViewOptions, usual: Options = USUAL
) -> Options:
    """The options given by keyword, the others as `usual` has them. Raises TypeError for an unknown name, and ValueError for a
    bad value."""
    if not given:
        return usual
    for name in given:
        if name not in known.__annotations__:
            raise TypeError(f"{of} has no argument {name!r}{_remedy(name, known)}")
    values = {**usual.given, **given}
    _check(values)
    penalty = values.pop("penalty", None)
    if "count_when" in values:
        values["count_when"] = counting.written(values["count_when"])
        seen.counts_by_answer = seen.counts_by_answer or not counting.counts_always(values["count_when"])
    return Options(**values, penalty_ms=_penalty_ms(penalty))


def parse_call(given: Mapping[str, Any], usual: Options) -> Options:
    """The options that a call gives, the others as `usual`: how to count, as far as the call's own algorithm and rate can."""
    inherited = (usual.given.keys() & OF_LIMITS) - given.keys() - {"algorithm"}
    if given.get("algorithm", usual.algorithm) != usual.algorithm:
        usual, inherited = usual.without(inherited), set()
    usual = usual.without(("count_when", "hold"))
    return replace(parse_options(given, "hit()", CallOptions, usual), inherited=frozenset(inherited))


def _check(given: Mapping[str, Any]) -> None:
    """Raise ValueError for the first bad value; the message begins with its name."""
    for name, choices in _CHOICES.items():
        if name in given and given[name] not in choices:
            raise ValueError(f"{name} {given[name]!r} is unknown: write {' or '.join(map(repr, choices))}")
    for name in ("hold", "count_refused"):
        if not isinstance(given.get(name, False), bool):
            raise ValueError(f"{name} {given[name]!r} has the wrong type: write True or False")
    for name, (low, high) in _BOUNDS.items():
        number = given.get(name, low)
        if not isinstance(number, int) or isinstance(number, bool) or not low <= number <= high:
            raise ValueError(f"{name} {number!r}: write a whole number from {low} to {high}")
    message = given.get("message", "")
    if not isinstance(message, str) or len(message) > LONGEST_MESSAGE:
        raise ValueError(f"message {message!r:.80}: write a text of at most {LONGEST_MESSAGE} characters")
    _check_of_limits({name: given[name] for name in OF_LIMITS if name in given})
    condition = given.get("count_when", counting.ALWAYS)
    if not isinstance(condition, str):
        raise ValueError(f"count_when {condition!r} has the wrong type: write text such as login_failed or 401,403,5xx")
    counting.parse_count_when(condition)
    check_hold(given.get("hold", False), condition)
    check_lease(given.get("lease"), bool(given.get("penalty")), given.get("count_refused", False), condition)


def _check_of_limits(given: Mapping[str, Any]) -> None:
    """Before there is a limit: a function of the site gives the rate of each request."""
    for name in ("algorithm", "aligned_to"):
        if not isinstance(given.get(name, ""), str):
            raise ValueError(f"{name} {given[name]!r} has the wrong type: write text")
    Window(1, ALIGNMENTS_MS.get(given.get("aligned_to", ""), UNITS_MS["m"]), **given)


def _penalty_ms(penalty: Any) -> int:
    if penalty is None:
        return 0
    try:
        penalty_ms = parse_duration(penalty)
    except ValueError as error:
        raise ValueError(f"penalty: {error}") from None
    if penalty_ms > MOST_UNIT_MS:
        raise ValueError(f"penalty {penalty} is too long to be counted: write at most {MOST_UNIT_MS // DAY_MS}d")
    return penalty_ms


def _remedy(name: str, known: type) -> str:
    if name in _NOT_IN_CODE:
        return f": {_NOT_IN_CODE[name]}"
    near = _OTHER_NAMES.get(name) or next(iter(difflib.get_close_matches(name, known.__annotations__, n=1)), "")
    return f": did you mean {near!r}?" if near else ""


_CHOICES = {"mode": MODES, "on_missing": ON_MISSING, "on_error": ON_ERROR}
_BOUNDS = {"status": (400, 599), "lease": (1, MOST_COST)}
_BY_THE_CALL = "a call is charged at once, so only a rate at a view can have it"
_NOT_IN_CODE = {
    "enforce_percent": "a percentage is raised while somebody watches, so add a rule of this name in the admin",
    "candidate": "other limits are tried beside a rule, so add one of this name in the admin",
    "count_when": _BY_THE_CALL,
    "hold": _BY_THE_CALL,
}
