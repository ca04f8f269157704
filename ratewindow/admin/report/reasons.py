"""How often each reason refused, or led to a decision without Redis, and how long decisions took, as the report lists it."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ratewindow.admin.reasons import FAILED, LIMIT_OR_BLOCK, REFUSED
from ratewindow.reporting.latency import Percentiles, percentiles
from ratewindow.reporting.summary import number, percent
from ratewindow.reporting.sums import Sums


@dataclass(frozen=True)
class Reason:
    words: str
    name: str  # as in the log and in `Decision`
    count: str
    share: str


@dataclass(frozen=True)
class Reasons:
    """The reasons of refusals and of failures, most frequent first, and the latency of decisions."""

    refused: list[Reason]
    failed: list[Reason]
    latency: Percentiles | None

    def __bool__(self) -> bool:
        return bool(self.refused or self.failed or self.latency)


def reasons(total: Sums, with_blocks: bool) -> Reasons:
    """Without blocks a reader does not learn which refusals they made."""
    if not with_blocks:
        tally = Counter(total.reasons)
        tally[LIMIT_OR_BLOCK] = tally.pop("limit", 0) + tally.pop("block", 0)
        total = total._replace(reasons=+tally)
    return Reasons(
        list(_reasons(total, REFUSED, total.refused, failed=False)),
        list(_reasons(total, FAILED, total.met, failed=True)),
        percentiles(total.latency),
    )


def _reasons(total: Sums, words: Mapping[str, Any], whole: int, *, failed: bool) -> Iterator[Reason]:
    for name, count in sorted(total.reasons.items(), key=lambda item: (-item[1], item[0])):
        if (":" in name) == failed:
            yield Reason(str(words.get(name, name)), name, number(count), percent(count, whole))
