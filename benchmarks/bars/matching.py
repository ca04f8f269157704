"""Choosing the rules that a request meets, among a thousand and among ten."""

from benchmarks.bars.growth_rules import choosing
from benchmarks.rules import requests, rules
from benchmarks.tables import Section, Timed
from benchmarks.timing import side_by_side
from ratewindow.rulebook.current import Rulebook

AT_MOST = 3.0
FEW, MANY = 10, 1000


def measure() -> Section:
    books = {count: Rulebook(rules(count)) for count in (FEW, MANY)}
    met = {count: sum(len(books[count].match(each)) for each in requests(count)) / len(requests(count)) for count in books}
    times = side_by_side({f"{count:,} rules": choosing(count) for count in books}, calls=400)
    few = times[f"{FEW:,} rules"]
    return Section(
        "Choosing among rules",
        "`Rulebook.match`: one rule of ten for every request (at most five), half of the others for a path, half for a prefix, a "
        f"third of all for some methods only. A request meets {met[FEW]:.1f} rules of {FEW}, {met[MANY]:.1f} of {MANY:,}.",
        [Timed(name, (), AT_MOST if count == MANY else None, times[name], few) for count, name in zip(books, times, strict=True)],
        why=(
            f"Why more: a request meets {met[MANY] / met[FEW]:.1f} times as many rules, and one look is needed for each length "
            "that some prefix has."
        ),
    )
