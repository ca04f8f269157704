"""The curve of one period: the clients that each limit catches, the requests that it refuses, and the likely innocent of both.

A rule of several limits has a curve for each of their periods, each limit alone: so a curve says what its own number does.
What the rule refuses as a whole, also by penalties, is what the backtest decides.

Which limit it should have, the likely innocent say. Ordinary is the highest of their peaks or, of a thousand or more, the 99.9th
percentile. A limit belongs in a gap above that, between neighbouring peaks of all clients; a gap above all of the likely innocent
comes first. Of several gaps it is the lowest that is `WIDE`, since a second attacker far above the first must not lift the limit
above the first; if none is, it is the widest. Without a gap, the limit is what is ordinary with headroom.
"""

import heapq
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from django.utils.translation import gettext, ngettext

from ratewindow.conf.in_words import duration, filled
from ratewindow.contrib.backtest.clients import ClientPeak, refused
from ratewindow.limiter.durations import UNITS_MS
from ratewindow.limiter.types import Window

MOST_SHOWN = 200  # clients that a curve names
_ROUND = (10, 12, 15, 20, 25, 30, 40, 50, 60, 80)  # tenths of a power of ten
_SHOWN = (10, 20, 30, 50, 70)


def round_limits(most: int, of_a_power: Iterable[int] = _ROUND) -> tuple[int, ...]:
    """The limits that people write, from 1 to `most`."""
    within = {tens * 10**power // 10 for power in range(len(str(most))) for tens in of_a_power}
    return tuple(limit for limit in sorted(within | {7, 9}) if limit <= most)


@dataclass(frozen=True, slots=True)
class Point:
    """What one limit would have done. Requests are those that a ``sliding_log`` refuses."""

    limit: int
    caught: int  # clients with a higher peak
    innocent: int  # likely, of those caught
    refused: int
    innocent_refused: int


@dataclass(frozen=True, slots=True)
class Curve:
    """Points by rising limits; the last one catches nobody."""

    period_ms: int
    points: Sequence[Point]
    highest: Sequence[ClientPeak]  # peaks first, at most `MOST_SHOWN`
    clients: int
    innocent: int
    requests: int


def curve_of(clients: Sequence[ClientPeak], period_ms: int, cost: int = 1, also: Iterable[int] = ()) -> Curve:
    """With a point for each limit of `also`: the present one, and the suggested one."""
    return Curve(
        period_ms,
        [_point(clients, period_ms, cost, limit) for limit in sorted({*also, *_limits(clients)})],
        heapq.nlargest(MOST_SHOWN, clients, key=lambda each: (each.peak, each.requests)),
        len(clients),
        sum(each.likely_innocent for each in clients),
        sum(each.requests for each in clients),
    )


def _limits(clients: Iterable[ClientPeak]) -> Iterable[int]:
    """Round limits up to the first that catches nobody."""
    highest = max((each.peak for each in clients), default=0)
    rounds = round_limits(10 * max(1, highest), _SHOWN)
    return rounds[: next(place for place, limit in enumerate(rounds, 1) if limit >= highest)]


def _point(clients: Iterable[ClientPeak], period_ms: int, cost: int, limit: int) -> Point:
    caught = [each for each in clients if each.peak > limit]
    lost = [refused(each.times_ms, period_ms, limit // cost) if limit >= cost else each.requests for each in caught]
    of_innocent = [count for each, count in zip(caught, lost, strict=True) if each.likely_innocent]
    return Point(limit, len(caught), len(of_innocent), sum(lost), sum(of_innocent))


def above(peaks: Sequence[int], limit: int) -> int:
    """How many of these peaks are above a limit."""
    return sum(peak > limit for peak in peaks)


# A day, less what a daily file lacks before its first request and after its last one.
LEAST_SPAN_MS = UNITS_MS["d"] - 15 * UNITS_MS["m"]
LEAST_CLIENTS = 200
LEAST_INNOCENT = 100
BEYOND = 0.001  # the share of the likely innocent above the 99.9th percentile
WIDE = 1.5
APART = 3.0  # a gap that likely innocent clients are beyond must be this wide
NARROW = 1.1  # below this, peaks are neighbours by chance
HEADROOM = 1.5
MOST_HEADROOM = 3.0
Gap = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A limit and why this one, or None and why none."""

    period_ms: int
    limit: int | None
    reason: str

    @property
    def rate(self) -> str:
        return Window(self.limit, self.period_ms).text if self.limit is not None else ""


def suggest(clients: Sequence[ClientPeak], period_ms: int, span_ms: int, whole_seconds: bool = False) -> Suggestion:
    """A limit for a period, from the peaks of all clients in `span_ms`. `whole_seconds`: the times of requests are no finer."""
    peaks = sorted(each.peak for each in clients)
    innocent = sorted(each.peak for each in clients if each.likely_innocent)
    if reason := _why_none(period_ms, span_ms, len(peaks), len(innocent), whole_seconds):
        return Suggestion(period_ms, None, reason)
    ordinary = innocent[math.ceil((1 - BEYOND) * len(innocent)) - 1]
    gap = _gap(peaks, innocent[-1], ordinary)
    if gap is not None:
        limit = _within(*gap)
        return Suggestion(period_ms, limit, _why_in_gap(limit, period_ms, gap, above(peaks, limit), above(innocent, limit)))
    least = max(HEADROOM * ordinary, min(innocent[-1], MOST_HEADROOM * ordinary))
    limit = next(limit for limit in round_limits(10 * math.ceil(least)) if limit >= least)
    return Suggestion(period_ms, limit, _why_with_headroom(limit, period_ms, ordinary, above(innocent, limit)))


def _gap(peaks: Sequence[int], highest_innocent: int, ordinary: int) -> Gap | None:
    safe, some = _gaps_above(peaks, highest_innocent), _gaps_above(peaks, ordinary)
    widest = heapq.nlargest(1, safe, key=lambda gap: gap[1] / gap[0])
    return _lowest(safe, WIDE) or _lowest(some, APART) or _lowest(widest, NARROW)


def _gaps_above(peaks: Sequence[int], least: int) -> list[Gap]:
    """Neighbouring peaks, the lowest first."""
    return [*pairwise(sorted({least, *(peak for peak in peaks if peak > least)}))]


def _lowest(found: Iterable[Gap], ratio: float) -> Gap | None:
    return next(((low, high) for low, high in found if high >= ratio * low), None)


def _within(low: int, high: int) -> int:
    """The roundest number in the middle of a gap, near its geometric mean, and not above twice its lower end."""
    aim = min(math.sqrt(low * high), 2 * low)
    margin = (high / low) ** 0.25
    for numbers in (round_limits(high), range(low, high)):
        middle = [each for each in numbers if low * margin <= each <= high / margin]
        if middle:
            return min(middle, key=lambda each: abs(math.log(each / aim)))
    return low


def _why_in_gap(limit: int, period_ms: int, gap: Gap, caught: int, innocent: int) -> str:
    return filled(
        ngettext(
            "%(limit)s in %(period)s lies in a gap: %(caught)s client takes %(above)s or more, %(innocent)s of these likely "
            "innocent, and all others take at most %(below)s.",
            "%(limit)s in %(period)s lies in a gap: %(caught)s clients take %(above)s or more, %(innocent)s of these likely "
            "innocent, and all others take at most %(below)s.",
            caught,
        ),
        limit=limit,
        period=duration(period_ms),
        caught=caught,
        innocent=innocent,
        below=gap[0],
        above=gap[1],
    )


def _why_with_headroom(limit: int, period_ms: int, ordinary: int, innocent: int) -> str:
    return filled(
        gettext(
            "No client stands apart, so %(limit)s in %(period)s is what the busiest of the likely innocent take, %(ordinary)s, "
            "with headroom; it catches %(innocent)s of them."
        ),
        limit=limit,
        period=duration(period_ms),
        ordinary=ordinary,
        innocent=innocent,
    )


def _why_none(period_ms: int, span_ms: int, clients: int, innocent: int, whole_seconds: bool) -> str:
    """Empty if there is enough to suggest a limit."""
    is_long = span_ms >= max(LEAST_SPAN_MS, 2 * period_ms - UNITS_MS["m"])
    is_fine = not whole_seconds or period_ms >= UNITS_MS["s"]
    if is_long and is_fine and clients >= LEAST_CLIENTS and innocent >= LEAST_INNOCENT:
        return ""
    return filled(
        gettext(
            "To suggest a limit for %(period)s takes a log of at least %(least)s, with times as fine, of %(clients)s clients "
            "or more, %(innocent)s of them likely innocent: who got only successful answers (2xx or 3xx), or were signed in."
        ),
        period=duration(period_ms),
        least=duration(max(UNITS_MS["d"], 2 * period_ms)),
        clients=LEAST_CLIENTS,
        innocent=LEAST_INNOCENT,
    )
