"""Background threads of each process: what must happen regularly, and never on a request's time.

One thread always runs. It does what is quick, and starts the others, each of which runs only while it has something to do.
"""

import contextlib
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

ALWAYS = "housekeeping"  # the thread that always runs
LOOK_S = 1.0  # how often, at least, it looks whether another thread is needed
RETRY_S = 1.0  # when a chore is tried again whose interval cannot be told
MOST_LOGGED = 20  # different lines, for an error whose message is new each time


@dataclass(eq=False)
class Chore:
    """What a thread does again and again. `interval_s` is called each time, since settings may change.

    Chores of one thread wait for each other. A chore that may be held up has a thread that runs while it `is_needed`, or
    without that when it is due. An error is logged once, and again after the chore has worked in between.
    """

    run: Callable[[], None]
    interval_s: Callable[[], float]
    thread: str = ALWAYS
    is_needed: Callable[[], bool] | None = None
    due_s: float = 0.0
    failures: int = 0  # in a row

    @property
    def is_due(self) -> bool:
        return self.due_s <= time.monotonic()

    @property
    def has_work(self) -> bool:
        try:
            return self.is_due if self.is_needed is None else self.is_needed()
        except BaseException:
            return True  # `_attempt` meets the error again, and logs it


class _Thread:
    """Runs its chores in turn for as long as one of them has work, or always."""

    def __init__(self, name: str, chores: list[Chore]) -> None:
        self.name, self.chores = name, chores
        self.renew()

    def renew(self) -> None:
        """In a fork, where neither the parent's thread is nor whoever held the locks."""
        self.hurry, self._starting = threading.Event(), threading.RLock()
        self._runs = False
        for chore in self.chores:
            chore.due_s = 0.0

    def start(self) -> bool:
        """Start it if it has work, or wake it. False if the system lets no more threads start; the next call tries again."""
        with self._starting:
            if self._runs and any(chore.is_due and chore.has_work for chore in self.chores):
                self.hurry.set()
            if self._runs or not self._has_work():
                return True
            thread = threading.Thread(target=self._run, args=(self.hurry,), name=f"ratewindow-{self.name}", daemon=True)
            try:
                thread.start()
            except RuntimeError as error:
                if threading.main_thread().is_alive():  # else the process ends
                    _log_once(f"no thread can be started for {self.name}: {error}")
                return False
            self._runs = True
            return True

    def _has_work(self) -> bool:
        return self.name == ALWAYS or any(chore.has_work for chore in self.chores)

    def _run(self, hurry: threading.Event) -> None:
        try:
            while self._goes_on(hurry):
                hurry.clear()
                for chore in self.chores:
                    if chore.is_due and chore.has_work:
                        with contextlib.suppress(BaseException):  # even what logs an error may fail
                            _attempt(chore)
                if self.name == ALWAYS:
                    with contextlib.suppress(BaseException):
                        start_needed()
                hurry.wait(self._rest_s())
        except BaseException:  # gevent may end a greenlet that waits: then a request starts the thread again
            self._end(hurry)
            raise

    def _goes_on(self, hurry: threading.Event) -> bool:
        if self.hurry is not hurry:  # a chore has forked, and this is the child
            return False
        with self._starting:  # whoever finds work from now on sees that this thread has ended
            self._runs = self._has_work()
            return self._runs

    def _end(self, hurry: threading.Event) -> None:
        global running_in
        if self.hurry is hurry:
            self._runs = False
            if self.name == ALWAYS:
                running_in = 0

    def _rest_s(self) -> float:
        now_s = time.monotonic()
        if self.name == ALWAYS:
            return max(0.0, min(LOOK_S, *(chore.due_s - now_s for chore in self.chores)))
        return max(0.0, min((chore.due_s - now_s for chore in self.chores if chore.has_work), default=0.0))


_threads: list[_Thread] = []
_starting = threading.RLock()  # a handler of the log may ask for a decision, in the thread that holds it
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
    start_needed()


def start_needed() -> None:
    """Start the threads that have something to do, in a process whose threads run."""
    if running_in == os.getpid():
        for thread in _threads:
            thread.start()


def ensure_running() -> None:
    """Start the threads unless this process has them."""
    global running_in
    forks.notice()
    with _starting:
        if running_in == os.getpid():
            return
        started = [thread.start() for thread in _threads]
        if all(started):
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
    settings, began_s = None, time.monotonic()
    chore.due_s = began_s + RETRY_S
    try:
        settings = conf.current()
        chore.due_s = began_s + chore.interval_s()
        chore.run()
    except BaseException as error:  # a receiver of a signal may raise SystemExit
        if settings is not None and not conf.is_current(settings):
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


def _log_once(message: str) -> None:
    if message not in _logged and len(_logged) < MOST_LOGGED:
        _logged.add(message)
        logger.error("ratewindow: %s", message)


def _log_server_error(chore: Chore, error: BaseException) -> None:
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
    running_in, _starting = 0, threading.RLock()
    for thread in _threads:
        thread.renew()
