"""Penalties as people type them, ``15m`` or ``1m; 5m; 1h within 1d``, and as the limiter reads them."""

from datetime import timedelta
from typing import NamedTuple

from ratewindow.limiter.algorithms import DAY_MS, MOST_UNIT_MS
from ratewindow.limiter.durations import format_duration, parse_duration
from ratewindow.limiter.problem import Problem

MOST_STEPS = 10


class Growing(NamedTuple):
    """A penalty that grows: the n-th lock-out lasts the n-th of `steps_ms`, and each further one the last.

    A lock-out is the next one if it begins less than `within_ms` after the one before it has begun; else it is the first.
    """

    steps_ms: tuple[int, ...]
    within_ms: int

    def lasts_ms(self, number: int) -> int:
        return self.steps_ms[min(number, len(self.steps_ms)) - 1]


Penalty = int | Growing  # milliseconds, 0 for none


def as_growing(penalty: Penalty) -> Growing:
    """One duration as a list of it alone, which never grows."""
    return Growing((penalty,), 0) if isinstance(penalty, int) else penalty


def parse_penalty(text: str | timedelta) -> Penalty:
    """``"15m"`` or a timedelta in milliseconds, ``"1m; 5m; 1h within 1d"`` as `Growing`; without ``within`` that is a day.

    Raises ValueError, naming the text and the remedy, for a list that is too long, gets shorter, or lasts longer than the
    time within which it grows.
    """
    text = text if isinstance(text, str) else format_duration(parse_duration(text))
    listed, grows, within = text.lower().partition("within")
    steps = [each.strip() for each in listed.split(";")]
    if len(steps) > MOST_STEPS:
        raise Problem(
            "{text!r} has {count} durations, of at most {most}: leave some out", text=text[:64], count=len(steps), most=MOST_STEPS
        )
    steps_ms = tuple(map(countable_ms, steps))
    if list(steps_ms) != sorted(steps_ms):
        raise Problem("{text!r} has a duration that is shorter than the one before: write the shorter ones first", text=text)
    within_ms = countable_ms(within.strip()) if grows else DAY_MS
    if within_ms < steps_ms[-1] and (grows or steps[1:]):
        raise Problem(
            "{text!r} lasts up to {longest}, longer than the {within} within which it grows: end it with, for example, "
            "within {longest}",
            text=text,
            within=format_duration(within_ms),
            longest=format_duration(steps_ms[-1]),
        )
    return Growing(steps_ms, within_ms) if steps[1:] else steps_ms[0]


def in_one_form(text: str | timedelta) -> str:
    """The text that is stored: ``1m; 5m within 1d`` for `` 60s;5M``. Raises ValueError."""
    penalty = as_growing(parse_penalty(text))
    listed = "; ".join(map(format_duration, penalty.steps_ms))
    return f"{listed} within {format_duration(penalty.within_ms)}" if penalty.within_ms else listed


def countable_ms(text: str | timedelta) -> int:
    """The milliseconds of a duration that the limiter can count. Raises ValueError."""
    if (milliseconds := parse_duration(text)) > MOST_UNIT_MS:  # a column holds at most twice as much
        raise Problem(
            "{text} is too long to be counted: write at most {most}", text=str(text)[:64], most=f"{MOST_UNIT_MS // DAY_MS}d"
        )
    return milliseconds
