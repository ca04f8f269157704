"""One background thread for each process: what must happen regularly, and never on a request's time."""

import logging
import os
import threading
import time
from collections.abc import Callable

logger = logging.getLogger("ratewindow")


class _Chore:
    def __init__(self, run: Callable[[], None], interval_s: Callable[[], float]) -> None:
        self.run = run
        self.interval_s = interval_s
        self.due = 0.0
        self.failing = False


_chores: list[_Chore] = []
_start = threading.Lock()
_running = False


def every(interval_s: Callable[[], float], chore: Callable[[], None]) -> None:
    """Run `chore` now and again; `interval_s` is asked each time, so that settings may change.

    A chore that raises is logged once, and again after it has worked in between; the others go on.
    """
    _chores.append(_Chore(chore, interval_s))


def ensure_running() -> None:
    """Start the thread unless this process has one. Cheap enough for every request."""
    global _running
    if _running:
        return
    with _start:
        if not _running:
            threading.Thread(target=_loop, name="ratewindow-housekeeping", daemon=True).start()
            _running = True


def _loop() -> None:
    while True:
        now = time.monotonic()
        for chore in _chores:
            if chore.due <= now:
                chore.due = now + chore.interval_s()
                _attempt(chore)
        soonest = min(chore.due for chore in _chores) if _chores else now + 1
        time.sleep(max(0.0, soonest - time.monotonic()))


def _attempt(chore: _Chore) -> None:
    try:
        chore.run()
        chore.failing = False
    except Exception:
        if not chore.failing:
            logger.exception("ratewindow: %s fails; it is tried again", chore.run.__qualname__)
        chore.failing = True


def _after_fork() -> None:
    global _running, _start
    _running, _start = False, threading.Lock()
    for chore in _chores:
        chore.due = 0.0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
