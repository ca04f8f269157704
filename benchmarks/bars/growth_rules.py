"""Growth with the rules: what choosing among them takes beside one round trip."""

from itertools import cycle, islice

from benchmarks.floor import NAME as FLOOR
from benchmarks.floor import floor
from benchmarks.plots import Picture, curves
from benchmarks.rules import requests, rules
from benchmarks.tables import Section, Timed
from benchmarks.timing import Contestant, side_by_side
from ratewindow.rulebook.current import Rulebook

COUNTS = (1, 3, 10, 30, 100, 300, 1000)


def measure() -> Section:
    contestants = {FLOOR: floor()}
    for count in COUNTS:
        contestants[f"{count:,} rules" if count > 1 else "1 rule"] = choosing(count)
    times = side_by_side(contestants, calls=100)
    us = [times[name].median_us for name in list(times)[1:]]
    return Section(
        "Growth with the rules",
        "Wall time of `Rulebook.match`, by rules, with the mix above; the ratio is to a whole round trip.",
        [Timed(name, (), None, times[name], times[FLOOR]) for name in times],
        picture=Picture("growth-rules", "Cost of choosing by rules", curves({"match": (COUNTS, us)}, "rules", "µs"), (6, 3.4)),
    )


def choosing(count: int) -> Contestant:
    """Among so many rules, for one path after the other."""
    book = Rulebook(rules(count))
    return Contestant(book.match, lambda calls: islice(cycle(requests(count)), calls))
