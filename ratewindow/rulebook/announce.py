"""The signal `rules_changed`: sent where the rules are edited and, in all other processes, by a thread of its own.

A receiver may be slow; if the thread that reads the rows waited for it, no edit would act meanwhile.
"""

import threading
from collections.abc import Collection

from django.db import close_old_connections

from ratewindow import background
from ratewindow.models import RateRule
from ratewindow.signals import rules_changed

INTERVAL_S = 1.5  # a change makes it due immediately


class Changes:
    """Names of changed rules that have not been sent yet. Those added while receivers are busy are sent together."""

    def __init__(self) -> None:
        self._adding, self._sending = threading.Lock(), threading.Lock()
        self._waiting: set[str] = set()

    def add(self, names: Collection[str]) -> None:
        with self._adding:
            self._waiting.update(names)

    def is_waiting(self) -> bool:
        return bool(self._waiting)

    def send(self) -> None:
        """Send the waiting names, unless another thread is sending, which then sends these, too."""
        while self._waiting and self._sending.acquire(blocking=False):
            try:
                with self._adding:
                    names, self._waiting = sorted(self._waiting), set()
                if names:
                    rules_changed.send_robust(RateRule, changed=names)
            finally:
                self._sending.release()


_changes = Changes()


def add(names: Collection[str]) -> None:
    """Add changed rules, for `send` or, soon, `send_waiting`."""
    if names:
        _changes.add(names)
        background.hurry(send_waiting)


def send() -> None:
    """Send the signal in this thread."""
    _changes.send()


def is_waiting() -> bool:
    """Whether `send_waiting` has something to send."""
    return _changes.is_waiting()


def send_waiting() -> None:
    """`send` in a thread of its own."""
    try:
        send()
    finally:
        close_old_connections()  # a receiver may have used the database, and no request ends in this thread


def reset() -> None:
    """In a fork: the parent sends its own changes."""
    global _changes
    _changes = Changes()
