"""What is new and what is over since the last run, so that an alert is sent once while its condition holds."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from ratewindow.operations.alerts.conditions import Condition

QUIET = timedelta(minutes=10)  # a condition is over once it has not held for so long

Raised = Mapping[str, Mapping[str, str]]  # by key of condition: since, last (in ISO 8601) and text


@dataclass(frozen=True)
class Changes:
    """`raised` is what holds now; `new` and `over` are to be sent, each with its key, since and text."""

    raised: dict[str, dict[str, str]]
    new: list[dict[str, str]]
    over: list[dict[str, str]]

    def __bool__(self) -> bool:
        return bool(self.new or self.over)


def changes(
    raised: Any, holds: Iterable[Condition], watched: Collection[str], unknown: Collection[str], now: datetime
) -> Changes:
    """Of kinds that are no longer `watched` nothing is said, and those that are `unknown` stay as they are."""
    found = Changes({}, [], [])
    before: Raised = raised if isinstance(raised, dict) else {}
    for condition in holds:
        known = before.get(condition.key)
        entry = {"since": known["since"] if known else now.isoformat(), "last": now.isoformat(), "text": condition.text}
        found.raised[condition.key] = entry
        if not known:
            found.new.append(_said(condition.key, entry))
    for key, known in before.items():
        kind = key.partition(":")[0]
        if key in found.raised or kind not in watched:
            continue
        if kind not in unknown and now - datetime.fromisoformat(known["last"]) >= QUIET:
            found.over.append(_said(key, known))
        else:
            found.raised[key] = dict(known)
    return found


def _said(key: str, entry: Mapping[str, str]) -> dict[str, str]:
    kind, _, rule = key.partition(":")
    return {"condition": kind, "rule": rule, "since": entry["since"], "text": entry["text"]}
