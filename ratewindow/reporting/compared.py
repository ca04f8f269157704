"""How a candidate compares with its rule: a line of its own in the counts, under a name that no rule can have.

Of the requests that both judged, `passed` counts those that the rule lets pass, `would_refuse` those of them that its candidate
would refuse, `refused` those that the rule alone refuses, and `other` those that both refuse. So who is concerned is counted as
with rules.
"""

from collections.abc import Iterable

from ratewindow.limiter.keys import digest
from ratewindow.limiter.types import Window

MARK = "~"


def line_name(rule: str, candidate: Iterable[Window]) -> str:
    """Another one for each candidate, so that none is shown what an earlier one did."""
    return MARK + digest(f"{rule} {[window.values() for window in candidate]}", 12)


def is_line(name: str) -> bool:
    """Whether these are the counts of a comparison, not of a rule."""
    return name.startswith(MARK)
