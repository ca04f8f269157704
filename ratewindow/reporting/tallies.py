"""How often each of several things happened, by its name: added, compared and sent like the numbers beside it."""

import re
from collections.abc import Mapping

Tally = Mapping[str, int]

MOST_NAMES = 100
_NAME = re.compile(r"[A-Za-z0-9_.:-]{1,40}")


def plus(one: Tally, more: Tally) -> Tally:
    if not one or not more:
        return one or more
    return {name: one.get(name, 0) + more.get(name, 0) for name in {**one, **more}}


def at_least(one: Tally, known: Tally) -> Tally:
    """The larger of two counts of the same, name by name."""
    if not one or not known:
        return one or known
    return {name: max(one.get(name, 0), known.get(name, 0)) for name in {**one, **known}}


def to_text(tally: Tally) -> str:
    return ",".join(f"{name}={number}" for name, number in tally.items())


def from_text(text: str) -> Tally | None:
    """What `to_text` wrote; None for anything else."""
    tally = {}
    for part in text.split(",") if text else ():
        name, _, number = part.partition("=")
        if not _NAME.fullmatch(name) or not is_number(number):
            return None
        tally[name] = int(number)
    return tally if len(tally) <= MOST_NAMES else None


def of_json(value: object) -> Tally:
    """The counts in what a row holds, and nothing else that it may hold."""
    if not isinstance(value, dict):
        return {}
    return {name: number for name, number in value.items() if isinstance(number, int) and _NAME.fullmatch(name) and number > 0}


def is_number(text: str) -> bool:
    """Whether this can be what one process has counted in a minute: far less than a database holds."""
    return text.isascii() and text.isdigit() and len(text) <= 12
