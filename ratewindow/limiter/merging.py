"""Checks that share windows, as checks that do not."""

from collections.abc import Iterator

from ratewindow.limiter.types import Check, Window


def merged(checks: list[Check]) -> list[Check]:
    """The checks with no state key twice: one window met twice is charged once, with the larger cost.

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
