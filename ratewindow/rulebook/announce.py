"""The signal `rules_changed`: who edits sends it, and for all other processes a thread does that nothing else waits for.

A listener may take its time. The thread that reads the rows must not wait for it, or no edit would act meanwhile.
"""

import threading
from collections.abc import Collection

from django.db import close_old_connections

from ratewindow import background
from ratewindow.models import RateRule
from ratewindow.signals import rules_changed

LOOK_S = 1.5  # a change makes it due at once


class Changes:
    """Names of rules that have changed, until listeners have heard of them. What comes while they are busy is told together."""

    def __init__(self) -> None:
        self._adding, self._sending = threading.Lock(), threading.Lock()
        self._waiting: set[str] = set()

    def add(self, names: Collection[str]) -> None:
        with self._adding:
            self._waiting.update(names)

    def send(self) -> None:
        """Send what waits, unless another thread is sending: then that one goes on with it."""
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
    """These have changed; `send` or, soon, a thread of its own tells the listeners."""
    if names:
        _changes.add(names)
        background.hurry(send_waiting)


def send() -> None:
    """Tell the listeners in this thread."""
    _changes.send()


def send_waiting() -> None:
    """`send` in the thread that is for it."""
    try:
        send()
    finally:
        close_old_connections()  # a listener may have used the database, and no request ends in this thread


def reset() -> None:
    """In a fork: the parent sends its own changes."""
    global _changes
    _changes = Changes()
