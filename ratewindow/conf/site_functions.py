"""Failures of the site's own functions, such as a cost or a key: logged and counted instead of raised.

The caller catches the exception, rejects an invalid value and calls `failed`; a later success calls `worked`. So the log
has one line each time that a function begins to fail, and the report counts every failure, as ``function:cost``.
"""

import logging
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from asgiref.sync import iscoroutinefunction

logger = logging.getLogger("ratewindow")

MOST_LOGGED = 500  # functions that fail at the same time
LONGEST_SHOWN = 80  # characters of the error

_lock = threading.Lock()
_listeners: list[Callable[[str, str], None]] = []
failing: set[tuple[str, str]] = set()  # check that it is not empty before calling `worked`, to save the call


_unreported: ContextVar[bool] = ContextVar("ratewindow_unreported", default=False)


@contextmanager
def unreported() -> Iterator[None]:
    """Failures and successes meanwhile are neither logged nor counted: the functions are asked about a request that nobody
    has sent, and may fail for what that lacks."""
    token = _unreported.set(True)
    try:
        yield
    finally:
        _unreported.reset(token)


def is_async(function: Any) -> bool:
    """Whether a call of this function or callable object must be awaited."""
    return iscoroutinefunction(function) or iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004


def failed(what: str, where: str, error: BaseException, holds: str, rules: Iterable[str] = ()) -> str:
    """Log that the function for `what` (``cost``, ``rate``, ``key``) of `where` failed, and count it for each of `rules`.

    `holds` says what happens instead. Returns the cause under which it is counted.
    """
    cause = f"function:{what}"
    if _unreported.get():
        return cause
    for listener in _listeners:
        for rule in dict.fromkeys(rules):
            listener(rule, cause)
    with _lock:
        is_new = (what, where) not in failing and len(failing) < MOST_LOGGED
        if is_new:
            failing.add((what, where))
    if is_new:
        logger.error("ratewindow: the %s function of %s failed, %s (logged once): %s", what, where, holds, _in_a_line(error))
    return cause


def count(what: str, rule: str) -> None:
    """Count a failure of the function for `what` for one more rule."""
    for listener in () if _unreported.get() else _listeners:
        listener(rule, f"function:{what}")


def _in_a_line(error: BaseException) -> str:
    """The error and where it was raised, as short ASCII. No traceback, since that ends in the error's text as it is: it may
    contain what a client sent, and a line break in it would forge a log line.
    """
    message = ascii(f"{type(error).__name__}: {error}"[:LONGEST_SHOWN])[1:-1]
    frames = traceback.extract_tb(error.__traceback__)
    return f"{message} at {frames[-1].filename}:{frames[-1].lineno}" if frames else message


def worked(what: str, where: str) -> None:
    """The function works again: its next failure is logged."""
    if not _unreported.get():
        with _lock:
            failing.discard((what, where))


def listen(listener: Callable[[str, str], None]) -> None:
    """Call `listener` with the rule's name and the cause whenever a function fails."""
    _listeners.append(listener)


def renew() -> None:
    """After a fork, in which a thread that no longer exists may hold the lock."""
    global _lock
    _lock = threading.Lock()
