"""How long decisions took: a histogram, each span of which is 1.4 times as long as the one before."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ratewindow.reporting.tallies import Tally

SPANS = 50

# Span n counts decisions of less than sqrt(2^n) microseconds and at least sqrt(2^(n - 1)). Written with three digits and
# never as 1.48e+03, which is not a valid name in a tally.
BOUNDS = tuple(f"{float(f'{2 ** (number / 2) / 1000:.3g}'):g}" for number in range(SPANS))
_NUMBERS = {bound: number for number, bound in enumerate(BOUNDS)}


def tally_of(counts: Sequence[int]) -> Tally:
    """Counts by span as a tally: by the span's upper bound in milliseconds."""
    return {BOUNDS[number]: count for number, count in enumerate(counts) if count}


@dataclass(frozen=True)
class Percentiles:
    """Milliseconds within which 50, 95 and 99 percent of decisions were made, exact to about a tenth."""

    count: int
    p50_ms: float
    p95_ms: float
    p99_ms: float


def percentiles(tally: Tally) -> Percentiles | None:
    """None if there were no decisions."""
    spans = sorted((_NUMBERS[bound], count) for bound, count in tally.items() if bound in _NUMBERS)
    total = sum(count for _, count in spans)
    if not total:
        return None
    p50, p95, p99 = (_within_ms(spans, total * share / 100) for share in (50, 95, 99))
    return Percentiles(total, p50, p95, p99)


def _within_ms(spans: Iterable[tuple[int, int]], wanted: float) -> float:
    """The time within which so many decisions were made, as if those of one span were spread evenly."""
    before, highest_ms = 0, 0.0
    for number, count in spans:
        lowest_ms, highest_ms = (2 ** (each / 2) / 1000 for each in (number - 1, number))
        if before + count >= wanted:
            return lowest_ms + (highest_ms - lowest_ms) * max(0.0, (wanted - before) / count)
        before += count
    return highest_ms
