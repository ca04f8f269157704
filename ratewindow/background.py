"""Background threads of each process: what must happen regularly, and never on a request's time."""

import logging
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from django.db import DatabaseError

from ratewindow import conf
from ratewindow.limiter import forks
from ratewindow.limiter.redis import faults
from ratewindow.store import breaker

logger = logging.getLogger("ratewindow")

MOST_TOLD = 20  # different lines, for an error whose words are new each time


class _Chore:
    def __init__(self, run: Callable[[], None], interval_s: Callable[[], float]) -> None:
        self.run = run
        self.interval_s = interval_s
        self.due = 0.0
        self.failures = 0  # in a row


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
_runs_in = 0  # the process whose threads run


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
    global _runs_in
    if _runs_in == os.getpid():
        return
    forks.notice()
    with _start:
        if not _runs_in:
            for each in _rounds.values():
                each.begin()
            _runs_in = os.getpid()
            _tell_of_threads()


def _tell_of_threads() -> None:
    """uWSGI holds the interpreter's lock between two requests, unless it is told that there are threads."""
    options = getattr(sys.modules.get("uwsgi"), "opt", None)
    if isinstance(options, dict) and not {"enable-threads", "threads"} & {_text(name) for name in options}:
        logger.error(
            "ratewindow: this uWSGI runs no threads between requests, so edits act late and processes seem silent: start it with"
            " --enable-threads"
        )


def _text(name: Any) -> str:
    return name.decode(errors="replace") if isinstance(name, bytes) else str(name)


def _attempt(chore: _Chore) -> None:
    settings = conf.current()
    try:
        chore.run()
    except Exception as error:
        if conf.current() is not settings:
            return  # a test has changed them meanwhile, which closes the connections that were in use here
        chore.failures += 1
        if faults.of(error).concerns is faults.Concerns.SERVER:
            _tell_of_server(chore, error)
        elif chore.failures == 1:
            ours = not isinstance(error, DatabaseError)  # of a server that is away a traceback tells nothing
            logger.error("ratewindow: %s fails, and is tried again: %s", chore.run.__qualname__, error, exc_info=ours)
    else:
        if chore.failures:
            _told.clear()
        chore.failures = 0


_told: set[str] = set()  # what chores have said of a server, until one of them works again


def _tell_of_server(chore: _Chore, error: Exception) -> None:
    """An outage is one line, and that is the breaker's. Ours is for what no decision meets: there was none, or the
    server refuses this chore alone. So it waits for a second failure, by which time decisions have met an outage, too."""
    told = f"{type(error).__name__}: {error}"
    if breaker.any_open():
        chore.failures = 0  # what is still under way when the server is back is no news either
    if chore.failures < 2 or told in _told or len(_told) >= MOST_TOLD:
        logger.debug("ratewindow: %s fails: %s", chore.run.__qualname__, told)
        return
    _told.add(told)
    logger.error("ratewindow: %s fails, and is tried again: %s", chore.run.__qualname__, told)


def _after_fork() -> None:
    global _runs_in, _start
    _runs_in, _start = 0, threading.Lock()
    for each in _rounds.values():
        each.begin_anew()


forks.after_fork(_after_fork)
