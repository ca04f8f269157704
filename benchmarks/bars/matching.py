"""Choosing the rules that match a request, among a thousand and among ten."""

from itertools import cycle, islice

from benchmarks.rules import requests, rules
from benchmarks.tables import Section, Timed
from benchmarks.timing import Contestant, side_by_side
from ratewindow.rulebook.current import Rulebook

AT_MOST = 3.0
FEW, MANY = 10, 1000


def measure() -> Section:
    books = {count: Rulebook(rules(count)) for count in (FEW, MANY)}
    met = {count: sum(len(books[count].match(each)) for each in requests(count)) / len(requests(count)) for count in books}
    times = side_by_side({f"{count:,} rules": _choosing(count) for count in books}, calls=400)
    few = times[f"{FEW:,} rules"]
    return Section(
        "Choosing among rules",
        "`Rulebook.match`: one rule of ten for every request (at most five), half of the others for a path, half for a "
        f"prefix. A request matches {met[FEW]:.1f} rules of {FEW}, {met[MANY]:.1f} of {MANY:,}.",
        [Timed(name, (), AT_MOST if count == MANY else None, times[name], few) for count, name in zip(books, times, strict=True)],
        why=(
            f"Why more: a request matches {met[MANY] / met[FEW]:.1f} times as many rules, and one look is needed for each length "
            "that some prefix has."
        ),
    )


def _choosing(count: int) -> Contestant:
    """Among so many rules, for one path after the other."""
    book = Rulebook(rules(count))
    return Contestant(book.match, lambda calls: islice(cycle(requests(count)), calls))
