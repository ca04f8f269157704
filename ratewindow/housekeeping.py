"""Background threads of each process: what must happen regularly, and never on a request's time."""

import logging
import os
import threading
import time
from collections.abc import Callable

from django.db import DatabaseError
from redis.exceptions import RedisError

from ratewindow import conf

logger = logging.getLogger("ratewindow")

_AWAY = (RedisError, OSError, DatabaseError)  # a server that does not answer, of which a traceback tells nothing


class _Chore:
    def __init__(self, run: Callable[[], None], interval_s: Callable[[], float]) -> None:
        self.run = run
        self.interval_s = interval_s
        self.due = 0.0
        self.failing = False


class _Round:
    """Chores that one thread does in turn."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.chores: list[_Chore] = []
        self.news = threading.Event()

    def begin(self) -> None:
        threading.Thread(target=self._go_on, name=self.name, daemon=True).start()

    def begin_anew(self) -> None:
        """After a fork the parent's thread, and whoever held the event's lock, is not here."""
        self.news = threading.Event()
        for chore in self.chores:
            chore.due = 0.0

    def _go_on(self) -> None:
        while True:
            self.news.clear()
            now = time.monotonic()
            for chore in self.chores:
                if chore.due <= now:
                    chore.due = now + chore.interval_s()
                    _attempt(chore)
            soonest = min(chore.due for chore in self.chores)
            self.news.wait(max(0.0, soonest - time.monotonic()))


_rounds: dict[str, _Round] = {}
_start = threading.Lock()
_running = False


def every(interval_s: Callable[[], float], chore: Callable[[], None], apart: str = "") -> Callable[[], None]:
    """Run `chore` now and again; `interval_s` is asked each time, so that settings may change.

    A chore that raises is logged once, and again after it has worked in between; the others go on. One that
    may be held up for long, by a database say, has a thread `apart`, whose name this is. Returns a function
    that makes the chore due at once.
    """
    name = f"ratewindow-{apart or 'housekeeping'}"
    round_ = _rounds.setdefault(name, _Round(name))
    made = _Chore(chore, interval_s)
    round_.chores.append(made)

    def hurry() -> None:
        made.due = 0.0
        round_.news.set()

    return hurry


def ensure_running() -> None:
    """Start the threads unless this process has them. Cheap enough for every request."""
    global _running
    if _running:
        return
    with _start:
        if not _running:
            for each in _rounds.values():
                each.begin()
            _running = True


def _attempt(chore: _Chore) -> None:
    settings = conf.current()
    try:
        chore.run()
        chore.failing = False
    except Exception as error:
        if conf.current() is not settings:
            return  # a test has changed them meanwhile, which closes the connections that were in use here
        if not chore.failing:
            ours = not isinstance(error, _AWAY)
            logger.error("ratewindow: %s fails; it is tried again: %s", chore.run.__qualname__, error, exc_info=ours)
        chore.failing = True


def _after_fork() -> None:
    global _running, _start
    _running, _start = False, threading.Lock()
    for each in _rounds.values():
        each.begin_anew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
