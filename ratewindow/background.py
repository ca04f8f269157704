"""Background threads of each process: what must happen regularly, and never on a request's time."""

import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from django.db import DatabaseError

from ratewindow import conf
from ratewindow.limiter import forks
from ratewindow.limiter.redis import faults

logger = logging.getLogger("ratewindow")

MOST_LOGGED = 20  # different lines, for an error whose message is new each time


@dataclass(eq=False)
class Chore:
    """What a thread does again and again. `interval_s` is called each time, since settings may change.

    Chores of one thread wait for each other. An error is logged once, and again after the chore has worked in between.
    """

    run: Callable[[], None]
    interval_s: Callable[[], float]
    thread: str = "housekeeping"
    due_s: float = 0.0
    failures: int = 0  # in a row


class _Thread:
    """Runs its chores in turn."""

    def __init__(self, name: str, chores: list[Chore]) -> None:
        self.name, self.chores = name, chores
        self.hurry = threading.Event()

    def start(self) -> None:
        threading.Thread(target=self._run, name=f"ratewindow-{self.name}", daemon=True).start()

    def renew(self) -> None:
        """In a fork, where neither the parent's thread is nor whoever held the event's lock."""
        self.hurry = threading.Event()
        for chore in self.chores:
            chore.due_s = 0.0

    def _run(self) -> None:
        while True:
            self.hurry.clear()
            now_s = time.monotonic()
            for chore in self.chores:
                if chore.due_s <= now_s:
                    chore.due_s = now_s + chore.interval_s()
                    _attempt(chore)
            soonest_s = min(chore.due_s for chore in self.chores)
            self.hurry.wait(max(0.0, soonest_s - time.monotonic()))


_threads: list[_Thread] = []
_starting = threading.Lock()
running_in = 0  # the process whose threads run; requests compare it before they call `ensure_running`


def assign(chores: Iterable[Chore], outage_is_known: Callable[[], bool]) -> None:
    """Set what this process's threads do. While `outage_is_known`, errors of the server are no news."""
    global _threads, _outage_is_known
    by_thread: dict[str, list[Chore]] = {}
    for chore in chores:
        by_thread.setdefault(chore.thread, []).append(chore)
    _threads = [_Thread(name, each) for name, each in by_thread.items()]
    _outage_is_known = outage_is_known


def _outage_is_known() -> bool:
    return False


def hurry(run: Callable[[], None]) -> None:
    """Make the chore that runs this due now."""
    for thread in _threads:
        for chore in thread.chores:
            if chore.run == run:
                chore.due_s = 0.0
                thread.hurry.set()


def ensure_running() -> None:
    """Start the threads unless this process has them."""
    global running_in
    forks.notice()
    with _starting:
        if running_in != os.getpid():
            for thread in _threads:
                thread.start()
            running_in = os.getpid()
            _log_missing_threads()


def _log_missing_threads() -> None:
    """uWSGI holds the interpreter's lock between two requests unless it is started with threads."""
    options = getattr(sys.modules.get("uwsgi"), "opt", None)
    if isinstance(options, dict) and not {"enable-threads", "threads"} & {_text(name) for name in options}:
        logger.error(
            "ratewindow: this uWSGI runs no threads between requests, so edits act late and processes seem silent: start it with"
            " --enable-threads"
        )


def _text(name: Any) -> str:
    return name.decode(errors="replace") if isinstance(name, bytes) else str(name)


def _attempt(chore: Chore) -> None:
    settings = conf.current()
    try:
        chore.run()
    except Exception as error:
        if conf.current() is not settings:
            return  # a test has changed them meanwhile, which closes the connections that were in use here
        chore.failures += 1
        if faults.of(error).concerns is faults.Concerns.SERVER:
            _log_server_error(chore, error)
        elif chore.failures == 1:
            traceback = not isinstance(error, DatabaseError)  # where the database is down it says nothing
            logger.error("ratewindow: %s fails, and is retried: %s", chore.run.__qualname__, error, exc_info=traceback)
    else:
        if chore.failures:
            _logged.clear()
        chore.failures = 0


_logged: set[str] = set()  # errors of the server that chores have met, until one of them works again


def _log_server_error(chore: Chore, error: Exception) -> None:
    """The breaker logs an outage, in one line. This is for an error that no decision meets, since there was none or since the
    server refuses this chore alone; so only the second in a row is logged, by which time decisions have met an outage, too."""
    message = f"{type(error).__name__}: {error}"
    if _outage_is_known():
        chore.failures = 0  # what is still under way when the server is back is no news either
    if chore.failures < 2 or message in _logged or len(_logged) >= MOST_LOGGED:
        logger.debug("ratewindow: %s fails: %s", chore.run.__qualname__, message)
        return
    _logged.add(message)
    logger.error("ratewindow: %s fails, and is retried: %s", chore.run.__qualname__, message)


def renew() -> None:
    """In a fork: its threads start with its first request."""
    global running_in, _starting
    running_in, _starting = 0, threading.Lock()
    for thread in _threads:
        thread.renew()
