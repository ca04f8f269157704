"""The recordings that are going on, as this process knows them: read with the rules, and looked up in each request."""

import threading
from collections.abc import Mapping
from typing import NamedTuple

from ratewindow.conf import time_zone
from ratewindow.models import Recording


class Recorded(NamedTuple):
    """What is recorded of a rule: the peaks of its clients in the window with this tag, until a time of the clock."""

    pk: int
    window: str
    until_s: float
    left_out: frozenset[str] = frozenset()  # digests of the names of clients that have been erased


Held = Mapping[str, Recorded]  # by rule

held: Held = {}
_number = 0  # of the reading that `held` is from
_lock = threading.Lock()


def read() -> Held:
    rows = Recording.objects.filter(until__gt=time_zone.now()).order_by("since", "pk")  # the last one of a rule is kept
    return {row.rule: Recorded(row.pk, row.window, row.until.timestamp(), frozenset(row.left_out)) for row in rows}


def hold(found: Held, number: int) -> None:
    """Record by these, unless a reading with a higher number, which has seen more, is held."""
    global held, _number
    with _lock:
        if number >= _number:
            held, _number = found, number


def reset() -> None:
    """As in a process that has read nothing."""
    global held, _number
    held, _number = {}, 0


def renew() -> None:
    """In a fork: a thread that does not exist here may hold the lock."""
    global _lock
    _lock = threading.Lock()
