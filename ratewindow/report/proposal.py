"""Which limits a rule could have, by how much of its present ones each request of the last week had used.

A request that was the 24th of its client in a minute passes any limit of 24 or more: a lower limit has never counted more than a
higher one. So of all requests a limit would have refused at most those that were counted above it.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from ratewindow.counting.sums import NOTHING, SHARES, Tally
from ratewindow.limiter.types import Window
from ratewindow.report.report import Report, Waiting, last
from ratewindow.rules.rule import Rule

SPAN = "7d"
LEAST = 100  # requests
PART = 0.001  # of the requests may be above
HEADROOM = 1.5


@dataclass(frozen=True)
class Proposal:
    """`windows` are those of the rule with other limits, none higher. But for `above` of the requests that were counted under the
    present limits, no client had sent more than `most`."""

    rule: Rule
    windows: tuple[Window, ...]
    most: tuple[Window, ...]
    requests: int
    above: int
    since: datetime  # the rule's requests are known


def propose(rule: Rule, now: datetime, known: Waiting) -> Proposal | None:
    """None where too few requests are known under the present limits, where too many of them found no room, and where limits do
    not count requests alone: by cost, by answers, as a bucket, or with a penalty. Nor where code gives each client its own."""
    is_special = rule.limits_from or rule.cost != 1 or rule.count_when or rule.penalty_ms
    if is_special or any(window.burst is not None for window in rule.windows):
        return None
    found = Report(last(SPAN, now), known, rule.name)
    parts = [part for window in rule.windows if (part := _of_window(window, found.tallies.used))]
    if not parts or len(parts) < len(rule.windows):
        return None
    most, requests, above = zip(*parts, strict=True)
    return Proposal(
        rule=rule,
        windows=tuple(map(_with_headroom, most, rule.windows)),
        most=most,
        requests=min(requests),
        above=sum(above),
        since=min((step for step, _ in found.steps_of_rules), default=now),
    )


def propose_by(rules: Iterable[Rule], now: datetime, known: Waiting) -> Proposal | None:
    """By the rule that fewest requests matched, of those that allow it: it says most about requests like one that matches all."""
    sums = Report(last(SPAN, now), known).rules
    met = {rule: sums.get(rule.name, NOTHING).met for rule in rules}
    proposals = (propose(rule, now, known) for rule in sorted(met, key=met.__getitem__) if met[rule] >= LEAST)
    return next(filter(None, proposals), None)


def _of_window(window: Window, used: Tally) -> tuple[Window, int, int] | None:
    """The window with the lowest limit that hardly any request was above, how many are known, and how many were above it."""
    counts = [used.get(f"{window.text}:{share}", 0) for share in ("over", *range(100, 0, -100 // SHARES))]
    requests, above = sum(counts), 0
    for number, count in enumerate(counts):  # from the most used down
        if above + count > PART * requests:
            limit = math.ceil(window.limit * (SHARES + 1 - number) / SHARES)
            return (replace(window, limit=limit), requests, above) if number and requests >= LEAST else None
        above += count
    return None


def _with_headroom(most: Window, window: Window) -> Window:
    """With a limit rounded up to half a power of ten: 36 to 40, 130 to 150."""
    wanted = math.ceil(HEADROOM * most.limit)
    step = 10 ** (len(str(wanted)) - 1) // 2 or 1
    return replace(window, limit=min(window.limit, -(-wanted // step) * step))
