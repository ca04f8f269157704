"""The options of a rate in code: what a rule in the admin says besides key, methods and limits, by keyword.

Each is named as the field of a rule, except `status`, and has its meaning. They are checked when the module is imported.
"""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from datetime import timedelta
from functools import cached_property
from typing import Any, TypedDict

from django.conf import settings

from ratewindow.limiter.algorithms.fixed_window import ALIGNMENTS_MS
from ratewindow.limiter.durations import UNITS_MS
from ratewindow.limiter.penalties import in_one_form
from ratewindow.limiter.rates import parse_rates
from ratewindow.limiter.types import Window, too_much
from ratewindow.rules.rule import ALWAYS, ON_ERROR, ON_MISSING, check_hold, check_soft, parse_count_when, written

LONGEST_MESSAGE = 300  # characters, as in the admin


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
    status: int
    message: str
    soft: bool


class ViewOptions(CallOptions, total=False):
    """What a rate at a view can say: it can also wait for the answer."""

    count_when: str
    hold: bool
    forgive: bool


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
    count_when: str = ALWAYS
    hold: bool = False
    forgive: bool = False
    count_refused: bool = False
    penalty: str | None = None
    status: int = 429
    message: str = ""
    soft: bool = False

    @property
    def of_rule(self) -> dict[str, Any]:
        """The others, as fields of a row."""
        same = ("mode", "on_missing", "on_error", "count_when", "hold", "forgive", "count_refused", "penalty", "message", "soft")
        return {**{name: getattr(self, name) for name in same}, "response_status": self.status}

    @cached_property
    def given(self) -> dict[str, Any]:
        """What differs from the defaults, by keyword."""
        return {each.name: getattr(self, each.name) for each in fields(self) if getattr(self, each.name) != each.default}

    @cached_property
    def words(self) -> str:
        """What differs from the defaults, as it stands in code: ``burst=20, mode='shadow'``."""
        return ", ".join(f"{name}={value!r}" for name, value in self.given.items())

    def windows(self, rate: str) -> tuple[Window, ...]:
        """The limits of a rate, each with these options. Raises ValueError."""
        how = (self.algorithm, self.buckets, self.burst, self.aligned_to, settings.TIME_ZONE if self.aligned_to else "UTC")
        made = tuple(Window(each.limit, each.period_ms, *how) for each in parse_rates(rate))
        if problem := too_much(made):
            raise ValueError(f"rate {rate!r} has {problem}: give it fewer")
        return made


USUAL = Options()
OF_LIMITS = ("algorithm", "burst", "buckets", "aligned_to")
counts_by_answer = False  # whether any rate in code does: guards then look for it


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
    global counts_by_answer
    if not given:
        return usual
    for name in given.keys() - known.__annotations__.keys():
        near = difflib.get_close_matches(name, known.__annotations__, n=1)
        raise TypeError(f"{of} has no argument {name!r}{f': did you mean {near[0]!r}?' if near else ''}")
    values = {**usual.given, **given}
    _check(values)
    values["penalty"] = _penalty(values.get("penalty"))
    if "count_when" in values:
        values["count_when"] = written(values["count_when"])
        counts_by_answer = counts_by_answer or values["count_when"] != ALWAYS
    return Options(**values)


def parse_call(given: Mapping[str, Any], usual: Options, rate: Any) -> Options:
    """The options that a call gives, the others as `usual` where its rate can have them; a call is charged at once, and never
    waits for an answer."""
    usual = replace(usual, count_when=ALWAYS, hold=False, forgive=False)
    if "algorithm" in given:  # which may have none of the others
        usual = replace(usual, burst=None, buckets=None, aligned_to="")
    options = parse_options(given, "hit()", CallOptions, usual)
    if isinstance(rate, str):
        try:
            options.windows(rate)
        except ValueError:
            return replace(options, **{name: getattr(USUAL, name) for name in OF_LIMITS[1:] if name not in given})
    return options


def _check(given: Mapping[str, Any]) -> None:
    """Raise ValueError for the first bad value; the message begins with its name."""
    for name, choices in _CHOICES.items():
        if name in given and given[name] not in choices:
            raise ValueError(f"{name} {given[name]!r} is unknown: write {' or '.join(map(repr, choices))}")
    check_types(given, USUAL)
    if not 400 <= given.get("status", USUAL.status) <= 599:
        raise ValueError(f"status {given['status']!r}: write a whole number from 400 to 599")
    if len(given.get("message", "")) > LONGEST_MESSAGE:
        raise ValueError(f"message {given['message']!r:.80}: write a text of at most {LONGEST_MESSAGE} characters")
    # Before there is a limit, since a function of the site may give the rate of each request.
    alignment_ms = ALIGNMENTS_MS.get(given.get("aligned_to", ""), UNITS_MS["m"])
    limit = Window(1, alignment_ms, **{name: given[name] for name in OF_LIMITS if name in given})
    check_soft(given.get("soft", False), [limit])
    condition = given.get("count_when", ALWAYS)
    parse_count_when(condition)
    check_hold(given.get("hold", False) or given.get("forgive", False), condition)


def check_types(given: Mapping[str, Any], usual: Any) -> None:
    """Raise ValueError for a value of another type than `usual` has by that name, unless that is None."""
    for name, value in given.items():
        wanted = _type(getattr(usual, name, None))
        if wanted is not None and _type(value) is not wanted:
            raise ValueError(f"{name} {value!r} has the wrong type: write {_TYPES[wanted]}")


def _type(value: Any) -> type | None:
    return next((each for each in _TYPES if isinstance(value, each)), None)


def _penalty(penalty: Any) -> str | None:
    if penalty is None:
        return None
    try:
        return in_one_form(penalty)
    except ValueError as error:
        raise ValueError(f"penalty: {error}") from None


_TYPES = {str: "text", bool: "True or False", int: "a whole number"}  # a bool is an int, too
_CHOICES = {"mode": ("enforce", "shadow"), "on_missing": ON_MISSING, "on_error": ON_ERROR}
