"""The limit that a period should have, with its reason, or why there is none to suggest.

The likely innocent say what is ordinary: the highest of their peaks or, of a thousand or more, the 99.9th percentile. A
limit belongs in a gap above that, between neighbouring peaks of all clients; a gap above all of the likely innocent comes
first. Of several gaps it is the lowest that is `WIDE`, since a second attacker far above the first must not lift the limit
above the first; if none is, it is the widest.
Without a gap, the limit is what is ordinary with headroom.

Halves of the time are compared by the likely innocent alone: an attack in one half says nothing about what is ordinary.
"""

import math
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from ratewindow.limiter.durations import UNITS_MS
from ratewindow.limiter.types import Window
from ratewindow.operations.backtest.curve import gaps
from ratewindow.operations.backtest.peaks import ClientPeak
from ratewindow.operations.backtest.tried_limits import round_limits

# A day, less what a daily file lacks before its first request and after its last one.
LEAST_SPAN_MS = UNITS_MS["d"] - 15 * UNITS_MS["m"]
LEAST_CLIENTS = 200
LEAST_INNOCENT = 100
LEAST_IN_HALF = 50  # likely innocent
BEYOND = 0.001  # the share of the likely innocent above the 99.9th percentile
LEAST_FOR_PERCENTILE = 1000  # likely innocent: of fewer it is the highest
WIDE = 1.5
APART = 3.0  # a gap that likely innocent clients are beyond must be this wide
NARROW = 1.1  # below this, peaks are neighbours by chance
HEADROOM = 1.5
MOST_HEADROOM = 3.0
AGREED = 0.2  # of the larger half
LEAST_BEYOND_IN_HALF = 20  # clients above the percentile that halves are compared by: with fewer it is chance


class Basis(StrEnum):
    """What a suggestion rests on, or why there is none."""

    GAP = "gap"
    HEADROOM = "headroom"
    TOO_SHORT = "too_short"
    TOO_FEW = "too_few"
    TOO_FEW_INNOCENT = "too_few_innocent"
    TOO_COARSE = "too_coarse"


@dataclass(frozen=True, slots=True)
class Halves:
    """The same percentile of the likely innocent in each half of the time."""

    first: int
    second: int
    innocent: int  # in the half that has fewer of them

    @property
    def agree(self) -> bool:
        differ = abs(self.first - self.second)
        return self.innocent >= LEAST_IN_HALF and differ <= max(1, AGREED * max(self.first, self.second))


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A limit, or None, and what it rests on."""

    basis: Basis
    period_ms: int
    span_ms: int
    clients: int
    innocent: int  # likely
    whole_seconds: bool = False
    limit: int | None = None
    ordinary: int = 0  # the 99.9th percentile of the likely innocent; of fewer than a thousand the highest
    below: int = 0  # the peaks on both sides of the limit
    above: int = 0
    caught: int = 0  # clients
    innocent_caught: int = 0
    halves: Halves | None = None
    without_apart: int | None = None  # the limit if the likely innocent that stand apart were not
    apart: int = 0  # how many these are

    @property
    def stable(self) -> bool:
        return self.halves is not None and self.halves.agree

    @property
    def rate(self) -> str:
        return Window(self.limit, self.period_ms).text if self.limit is not None else ""


def suggest(clients: Iterable[ClientPeak], period_ms: int, span_ms: int, whole_seconds: bool = False) -> Suggestion:
    """A limit for a period, from the peaks of all clients in `span_ms`. `whole_seconds`: the times of requests are no finer."""
    known = list(clients)
    peaks = sorted(each.peak for each in known)
    innocent = sorted(each.peak for each in known if each.likely_innocent)
    reason = _why_none(period_ms, span_ms, len(peaks), len(innocent), whole_seconds)
    if reason is not None:
        return Suggestion(reason, period_ms, span_ms, len(peaks), len(innocent), whole_seconds)
    chosen = _chosen(peaks, innocent)
    others = _without_apart(innocent)
    left = sorted(each.peak for each in known if not each.likely_innocent or each.peak <= others[-1])
    without = _chosen(left, others).limit
    return Suggestion(
        chosen.basis,
        period_ms,
        span_ms,
        len(peaks),
        len(innocent),
        whole_seconds,
        chosen.limit,
        chosen.ordinary,
        chosen.below,
        chosen.above,
        _above(peaks, chosen.limit),
        _above(innocent, chosen.limit),
        _halves(known),
        without if without < chosen.limit else None,
        len(innocent) - len(others),
    )


def _why_none(period_ms: int, span_ms: int, clients: int, innocent: int, whole_seconds: bool) -> Basis | None:
    if span_ms < max(LEAST_SPAN_MS, 2 * period_ms - UNITS_MS["m"]):
        return Basis.TOO_SHORT
    if whole_seconds and period_ms < UNITS_MS["s"]:
        return Basis.TOO_COARSE
    if clients < LEAST_CLIENTS:
        return Basis.TOO_FEW
    return Basis.TOO_FEW_INNOCENT if innocent < LEAST_INNOCENT else None


@dataclass(frozen=True, slots=True)
class _Chosen:
    basis: Basis
    limit: int
    ordinary: int
    below: int
    above: int


def _chosen(peaks: Sequence[int], innocent: Sequence[int]) -> _Chosen:
    """The limit for peaks in order, and the likely innocent among them."""
    ordinary = innocent[math.ceil((1 - BEYOND) * len(innocent)) - 1]
    safe, some = _gaps_above(peaks, innocent[-1]), _gaps_above(peaks, ordinary)
    gap = _lowest(safe, WIDE) or _lowest(some, APART) or _widest(safe, NARROW)
    if gap is not None:
        return _Chosen(Basis.GAP, _within(*gap), ordinary, *gap)
    limit = _above_or_at(max(HEADROOM * ordinary, min(innocent[-1], MOST_HEADROOM * ordinary)))
    return _Chosen(Basis.HEADROOM, limit, ordinary, ordinary, 0)


def _without_apart(innocent: Sequence[int]) -> Sequence[int]:
    """The likely innocent without those, at most one of a hundred, that stand apart from all others."""
    most_usual = innocent[math.ceil(0.99 * len(innocent)) - 1]
    gap = _lowest(_gaps_above(innocent, most_usual), APART)
    return innocent if gap is None else innocent[: bisect_right(innocent, gap[0])]


def _gaps_above(peaks: Sequence[int], least: int) -> list[tuple[int, int]]:
    return gaps([least, *(peak for peak in peaks if peak > least)])


def _lowest(found: Sequence[tuple[int, int]], ratio: float) -> tuple[int, int] | None:
    return next(((below, above) for below, above in found if above >= ratio * below), None)


def _widest(found: Sequence[tuple[int, int]], ratio: float) -> tuple[int, int] | None:
    widest = max(found, key=lambda gap: gap[1] / gap[0], default=None)
    return widest if widest is not None and widest[1] >= ratio * widest[0] else None


def _within(below: int, above: int) -> int:
    """The roundest number in the middle of a gap, near its geometric mean, and not above twice its lower end."""
    aim = min(math.sqrt(below * above), 2 * below)
    margin = (above / below) ** 0.25
    for numbers in (round_limits(above), range(below, above)):
        middle = [number for number in numbers if below * margin <= number <= above / margin]
        if middle:
            return min(middle, key=lambda number: abs(math.log(number / aim)))
    return below


def _above_or_at(number: float) -> int:
    return next(limit for limit in round_limits(10 * math.ceil(number)) if limit >= number)


def _above(peaks: Sequence[int], limit: int) -> int:
    return len(peaks) - bisect_right(peaks, limit)


def _halves(clients: Iterable[ClientPeak]) -> Halves:
    """The highest percentile that enough of the likely innocent are above in both halves, at most the 99.9th."""
    innocent = [each for each in clients if each.likely_innocent]
    first = sorted(each.first_half for each in innocent if each.first_half)
    second = sorted(each.second_half for each in innocent if each.second_half)
    least = min(len(first), len(second))
    beyond = max(BEYOND, min(1.0, LEAST_BEYOND_IN_HALF / max(1, least)))
    return Halves(_beyond(first, beyond), _beyond(second, beyond), least)


def _beyond(peaks: Sequence[int], share: float) -> int:
    """The peak that this share of all is above."""
    return peaks[max(0, math.ceil((1 - share) * len(peaks)) - 1)] if peaks else 0
