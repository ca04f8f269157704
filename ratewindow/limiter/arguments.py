"""What the limiter is asked, checked and brought into form: identities, windows, costs and clocks, as `Limiter`, the counter and
the Django app are given them; and checks that share a count."""

from collections.abc import Callable, Iterable, Iterator

from ratewindow.limiter.algorithms import MOST_UNIT_MS, algorithm
from ratewindow.limiter.keys import joined
from ratewindow.limiter.types import Check, Window

Identity = str | tuple[str, ...]
Windows = Window | Iterable[Window]
MOST_MS = 2**47  # in the year 6429: buckets are numbered with six bytes, and calendars end before the year 10000
MOST_COST = 1_000_000  # of what a log is charged at once, which keeps that many units and no more
MOST_UNITS = MOST_UNIT_MS  # that can be counted at all


def identity_of(given: object) -> str:
    """An identity as one text; TypeError names anything else."""
    if isinstance(given, str):
        return given
    if isinstance(given, tuple) and given and all(isinstance(part, str) for part in given):
        return given[0] if len(given) == 1 else joined(given)
    raise TypeError(f"identity {given!r:.60}: give a text, such as 'user:42', or several as a tuple")


def windows_of(given: object) -> tuple[Window, ...]:
    """Windows as a tuple; TypeError names anything else."""
    if isinstance(given, Window):
        return (given,)
    windows = tuple(given) if isinstance(given, Iterable) and not isinstance(given, str | bytes) else (given,)
    for window in windows:
        if not isinstance(window, Window):
            of_text = "ratewindow.limiter.rates.parse_rates makes windows of text"
            remedy = of_text if isinstance(window, str) else "give some such as Window(10, period_ms=1000)"
            raise TypeError(f"{window!r:.60} is not a window: {remedy}")
    return windows


def whole_ms_of(clock_ms: Callable[[], float]) -> Callable[[], int]:
    """The same clock in whole milliseconds, from 0 on; a ValueError names a time out of range."""
    if not callable(clock_ms):
        raise TypeError(f"clock_ms {clock_ms!r}: give a function that returns milliseconds")

    def now_ms() -> int:
        given = clock_ms()
        try:
            whole = int(given)
        except (TypeError, ValueError, OverflowError):  # not a number, or infinite
            whole = -1
        if not 0 <= whole <= MOST_MS:
            raise ValueError(f"clock_ms returned {given!r}: let it return milliseconds from 0 to {MOST_MS}")
        return whole

    return now_ms


def check_cost(cost: int, most: int = MOST_UNITS, name: str = "cost") -> int:
    """The cost itself; ValueError when it is no whole number of units from 0 to `most`."""
    if not isinstance(cost, int) or isinstance(cost, bool) or not 0 <= cost <= most:
        raise ValueError(f"{name} {cost!r}: write a whole number from 0 to {most}")
    return cost


def payable(check: Check) -> Check:
    """The check, with no more units than one call may charge whatever the limits are."""
    return check._replace(cost=min(check.cost, *map(most_charge, check.windows)))


def most_charge(window: Window) -> int:
    """A log keeps each unit. All else keeps sums, of units or of units times the period, which Redis holds exactly up to
    `MOST_UNIT_MS`."""
    used = algorithm(window.algorithm)
    return MOST_COST if used.most_limit is not None else max(MOST_COST, used.most_units(window.period_ms))


def merged(checks: list[Check]) -> list[Check]:
    """The checks with no state key twice, as two throttles with one scope have it: it is charged once, with the larger cost.

    Of two limits on one count the stricter holds. An enforcing check wins over one in shadow. A check that is left
    without windows is answered by the one that took them, and has gone from the list.
    """
    keys = [key for check in checks for key in check.keys]
    if len(keys) == 1 or len(set(keys)) == len(keys):
        return checks
    cost = {key: max(check.cost for check in checks if key in check.keys) for key in keys}
    taken: set[str] = set()
    kept = []
    for check in sorted(checks, key=lambda check: not check.enforce):
        met: dict[str, list[Window]] = {}
        for window, key in zip(check.windows, check.keys, strict=True):
            if key not in taken:
                met.setdefault(key, []).append(window)
        taken.update(met)
        if met:
            own = dict(each for key, windows in met.items() for each in _strictest(key, windows))
            kept.append(check._replace(windows=tuple(own.values()), keys=tuple(own), cost=max(cost[key] for key in met)))
    return kept


def _strictest(key: str, windows: list[Window]) -> Iterator[tuple[str, Window]]:
    """Of windows with one state the one that admits nothing which another would refuse.

    Of two buckets, one with the lower limit and one with the smaller burst, neither is: one level cannot drain at two
    rates, so each has its own.
    """
    least, kept = None, 0
    for window in sorted(windows, key=lambda window: (window.limit, window.burst or 0)):
        if least is None or (least.limit and window.burst and least.burst and window.burst < least.burst):
            yield f"{key}:{kept}" if kept else key, window
            least, kept = window, kept + 1
