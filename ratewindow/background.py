"""Background threads of each process: what must happen regularly, and never on a request's time. `process` lists what that is.

One thread always runs. It does what is quick, and starts others for what may be held up: each of these takes one turn.
"""

import contextlib
import logging
import os
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from django.db import DatabaseError

from ratewindow.limiter import forks
from ratewindow.limiter.redis import faults

logger = logging.getLogger("ratewindow")

ALWAYS = "housekeeping"  # the thread that always runs
LOOK_S = 1.0  # how often, at least, it looks whether another thread is needed
RETRY_S = 1.0  # when a chore is tried again whose interval cannot be told


@dataclass(eq=False)
class Chore:
    """What a thread does again and again. `interval_s` is called each time, since settings may change.

    Chores of one thread wait for each other. A chore that may be held up names a thread of its own, which is started when the
    chore is due and `is_needed`. An error is logged once, and again after the chore has worked in between.
    """

    run: Callable[[], None]
    interval_s: Callable[[], float]
    thread: str = ALWAYS
    is_needed: Callable[[], bool] | None = None
    due_s: float = 0.0
    failures: int = 0  # in a row

    @property
    def has_work(self) -> bool:
        try:
            return self.is_needed is None or self.is_needed()
        except BaseException:
            return True  # it is logged what comes of it


_chores: list[Chore] = []
_outage_is_known: Callable[[], object]  # `assign` sets it, as it does the chores
_starting = threading.RLock()  # a handler of the log may ask for a decision, in the thread that holds it
_wake = threading.Event()  # of the thread that always runs; another one in a fork
_busy: set[str] = set()  # the threads that run
_cannot_start: set[str] = set()
running_in = 0  # the process whose threads run; requests compare it before they call `ensure_running`


def assign(chores: Iterable[Chore], outage_is_known: Callable[[], object]) -> None:
    """Set what this process's threads do. While `outage_is_known`, errors of the server are no news."""
    global _chores, _outage_is_known
    _chores, _outage_is_known = [*chores], outage_is_known


def hurry(run: Callable[[], None]) -> None:
    """Make the chore that runs this due now."""
    for chore in _chores:
        if chore.run == run:
            chore.due_s = 0.0
    _wake.set()


def ensure_running() -> None:
    """Start the thread that always runs unless this process has it."""
    global running_in
    forks.notice()
    with _starting:
        if running_in != os.getpid() and _start(ALWAYS, _keep_house):
            running_in = os.getpid()


def _start(name: str, run: Callable[[str, threading.Event], None]) -> bool:
    """Start a thread. False if the system lets no more of them start; the next call tries again."""
    _busy.add(name)
    try:
        threading.Thread(target=run, args=(name, _wake), name=f"ratewindow-{name}", daemon=True).start()
    except RuntimeError as error:
        _busy.discard(name)
        if threading.main_thread().is_alive() and name not in _cannot_start:  # else the process ends
            _cannot_start.add(name)
            logger.error("ratewindow: no thread can be started for %s: %s", name, error)
        return False
    _cannot_start.discard(name)
    return True


def _keep_house(name: str, wake: threading.Event) -> None:
    """Do what is quick, start a thread for what else is due, and rest until something will be."""
    global running_in
    try:
        while wake is _wake:  # else a chore has forked, and this is the child
            wake.clear()
            now_s = time.monotonic()
            for other in {chore.thread for chore in _chores if chore.due_s <= now_s and chore.has_work} - _busy:
                with contextlib.suppress(BaseException):  # even what logs an error may fail
                    _start(other, _work_apart)
            _take_turn(name)
            wake.wait(_rest_s(now_s))
    except BaseException:  # gevent may end a greenlet that waits: then a request starts the thread again
        with _starting:
            running_in = running_in if wake is not _wake else 0
        raise


def _work_apart(name: str, wake: threading.Event) -> None:
    try:
        _take_turn(name)
    finally:
        if wake is _wake:
            _busy.discard(name)
            wake.set()  # something may have become due meanwhile


def _take_turn(name: str) -> None:
    """Do what is due of one thread's chores."""
    for chore in _chores:
        if chore.thread == name and chore.due_s <= time.monotonic() and chore.has_work:
            with contextlib.suppress(BaseException):
                _attempt(chore)


def _rest_s(now_s: float) -> float:
    """Until something is due. What was due by now is under way, or could not be started."""
    times_s = [chore.due_s for chore in _chores if (chore.thread == ALWAYS or chore.due_s > now_s) and chore.has_work]
    return max(0.0, min([now_s + LOOK_S, *times_s]) - time.monotonic())


def _attempt(chore: Chore) -> None:
    began_s = time.monotonic()
    chore.due_s = began_s + RETRY_S
    try:
        chore.due_s = began_s + chore.interval_s()
        chore.run()
    except BaseException as error:  # a receiver of a signal may raise SystemExit
        _log_failure(chore, error)
    else:
        chore.failures = 0


def _log_failure(chore: Chore, error: BaseException) -> None:
    """Once. The breaker logs an outage of Redis; an error of it that no decision meets is logged when it comes again, by which
    time decisions have met an outage, too."""
    is_of_server = faults.of(error).concerns is faults.Concerns.SERVER
    if is_of_server and _outage_is_known():
        chore.failures = 0  # what is still under way when the server is back is no news either
        return
    chore.failures += 1
    if chore.failures == (2 if is_of_server else 1):
        traceback = not is_of_server and not isinstance(error, DatabaseError)  # where these are down it says nothing
        logger.error("ratewindow: %s fails, and is retried: %s", chore.run.__qualname__, error, exc_info=traceback)


def renew() -> None:
    """In a fork, where neither the parent's threads are nor whoever held its locks: they start with its first request."""
    global running_in, _starting, _wake
    running_in, _starting, _wake = 0, threading.RLock(), threading.Event()
    _busy.clear()
    for chore in _chores:
        chore.due_s = 0.0
