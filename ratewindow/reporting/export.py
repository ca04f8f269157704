"""The numbers of a report as rows of files: over time, by rule, and who is refused."""

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext_lazy as _

from ratewindow.conf import time_zone
from ratewindow.reporting.reading import Reading
from ratewindow.reporting.report import sums_by_step
from ratewindow.reporting.sums import NUMBERS, Sums

Row = Mapping[str, Any]
Show = Callable[[str], str]  # how an identity is shown to the reader

_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # a cell that begins so is one in a spreadsheet
MOST_NAMES = 500


def _over_time(reading: Reading, show: Show) -> Iterator[Row]:
    by_step = sums_by_step(reading.period, reading.rules, reading.known)
    for (start, rule), sums in sorted(by_step.items()):
        yield {"from": time_zone.local(start).isoformat(), "rule": rule, **_numbers(sums)}


def _by_rule(reading: Reading, show: Show) -> Iterator[Row]:
    for rule, sums in sorted(reading.report.rules.items()):
        yield {"rule": rule, **_numbers(sums)}


def _who(reading: Reading, show: Show) -> Iterator[Row]:
    """Any number may be larger by `may_lack`."""
    found = reading.offenders
    kinds = {"network": found.networks, "client": found.clients, "route": found.routes, "agent": found.agents}
    for kind, names in kinds.items():
        for name in names.most:
            shown = show(name.value) if kind in ("network", "client") else name.value
            yield {
                "kind": "address" if kind == "network" and name.network else kind,
                "name": shown,
                "refused": name.refused,
                "would_refuse": name.would_refuse,
                "may_lack": names.bound.rank,
            }


@dataclass(frozen=True)
class Part:
    label: Any
    columns: tuple[str, ...]
    rows: Callable[[Reading, Show], Iterable[Row]]


PARTS = {
    "time": Part(_("Over time"), ("from", "rule", *NUMBERS), _over_time),
    "rules": Part(_("Rules"), ("rule", *NUMBERS), _by_rule),
    "who": Part(_("Who is refused"), ("kind", "name", "refused", "would_refuse", "may_lack"), _who),
}


def file_name(reading: Reading, part: str, ending: str) -> str:
    return f"ratewindow-{part}-{time_zone.local(reading.period.start):%Y%m%d-%H%M}.{ending}"


def write(file: Any, part: Part, reading: Reading, show: Show) -> None:
    """One part as CSV."""
    writer = csv.writer(file)
    writer.writerow(part.columns)
    for row in part.rows(reading, show):
        writer.writerow([safe(row[column]) for column in part.columns])


def safe(value: Any) -> Any:
    """A text that no spreadsheet takes for a formula: with an apostrophe before it."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def _numbers(sums: Sums) -> dict[str, int]:
    return dict(zip(NUMBERS, sums.numbers, strict=True))
