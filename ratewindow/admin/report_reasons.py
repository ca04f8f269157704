"""The reasons of refusals, and of decisions made without Redis, in words."""

from collections.abc import Iterator
from dataclasses import dataclass

from ratewindow.reporting.latency import Percentiles, percentiles
from ratewindow.reporting.summary import number, percent
from ratewindow.reporting.sums import Sums

_REFUSED = {
    "limit": "Over the limit",
    "penalty": "Locked out by a penalty",
    "block": "Blocked",
    "cost": "Costs more than the limit",
    "missing": "No such user, header or field",
    "store": "Redis did not answer, and the rule refuses then",
    "function": "A function of the site failed, and the rule refuses then",
}
_FAILED = {
    "store:timeout": "Redis did not answer in time",
    "store:connection": "Redis could not be reached",
    "store:loading": "Redis was loading its data",
    "store:busy": "Redis was busy with a script",
    "store:oom": "Redis was out of memory",
    "store:readonly": "Redis was read-only, such as a replica",
    "store:auth": "Redis refused the password",
    "store:noperm": "Redis did not permit a command",
    "store:misconf": "Redis could not save its data, and refused writes",
    "store:noreplicas": "Redis had too few replicas, and refused writes",
    "store:masterdown": "Redis had lost its master",
    "store:maxclients": "Redis had too many clients",
    "store:pool": "No connection was free",
    "store:denied": "Redis refuses connections from this host (protected mode)",
    "store:unsupported": "Redis does not support a command",
    "store:database": "Redis has no database with that number",
    "store:error": "Redis, or a proxy before it, answered with an error: see the log",
    "store:cluster": "A part of the cluster was not reachable",
    "store:sentinel": "The Sentinels named no master",
    "store:protocol": "The answer did not come from a Redis server",
    "store:wrongtype": "Another program has written to a key of the limiter",
    "store:script": "Redis refused the script",
    "store:toomany": "A request met more limits than one decision may have: see the log",
    "store:internal": "An error in the limiter: see the log",
    "function:cost": "The site's function for a cost failed",
    "function:rate": "The site's function for a rate failed",
    "function:key": "The site's function for a key failed",
}


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


def reasons(total: Sums) -> Reasons:
    return Reasons(
        list(_reasons(total, _REFUSED, total.refused, failed=False)),
        list(_reasons(total, _FAILED, total.met, failed=True)),
        percentiles(total.latency),
    )


def in_words(cause: str) -> str:
    """A cause in words: ``store:timeout`` is ``Redis did not answer in time``."""
    return _FAILED.get(cause, cause)


def _reasons(total: Sums, words: dict[str, str], whole: int, *, failed: bool) -> Iterator[Reason]:
    for name, count in sorted(total.reasons.items(), key=lambda item: (-item[1], item[0])):
        if (":" in name) == failed:
            yield Reason(words.get(name, name), name, number(count), percent(count, whole))
