"""Rates as text, ``"5/m; 20/h"``, as windows."""

import re

from ratewindow.limiter.durations import format_duration, parse_duration, unit_ms
from ratewindow.limiter.problem import Problem, translatable
from ratewindow.limiter.types import MOST_WINDOWS, TooManyWindows, Window

_RATE = re.compile(r"(\d+)\s*(?:/|\bper\b)\s*(\d*\s*[a-z]+(?:\d+[a-z]+)*)", re.ASCII)

EXAMPLES = translatable("5/m, 100/2h, 5/10s or 10 per minute; several joined by ;")


def parse_rates(text: str) -> tuple[Window, ...]:
    """The windows of ``"5/m; 20/h"``; empty text has none. ValueError names the text and the remedy."""
    if not isinstance(text, str):
        raise Problem("{text!r} is not a rate: write text such as {examples}", text=text, examples=EXAMPLES)
    parts = [part.strip() for part in text.split(";") if part.strip()]
    if len(parts) > MOST_WINDOWS:
        raise TooManyWindows(
            "{text!r} has {count} limits, of at most {most}: write fewer, or several rules",
            text=text[:64],
            count=len(parts),
            most=MOST_WINDOWS,
        )
    windows = tuple(map(_parse, parts))
    periods = [window.period_ms for window in windows]
    for window in windows:
        if periods.count(window.period_ms) > 1:
            raise Problem(
                "{text!r} has two limits for {period}: keep the lower one",
                text=text,
                period=format_duration(window.period_ms),
            )
    return windows


def _parse(text: str) -> Window:
    match = _RATE.fullmatch(text.lower()) if len(text) <= 64 else None
    if not match:
        raise Problem("{text!r} is not a rate: write {examples}", text=text[:64], examples=EXAMPLES)
    limit, period = match.groups()
    try:
        period_ms = parse_duration(period) if period[0].isdigit() else unit_ms(period)
        return Window(int(limit), period_ms)
    except ValueError as error:
        raise Problem("rate {text!r}: {error}", text=text, error=error) from None
