"""Functions of the site's own, such as a cost or a key: what one does wrong is told and counted, not raised.

Whoever calls such a function catches what it raises, refuses what it returns wrongly, and calls `failed` here; `worked`
ends that, and the next failure is news again. So the log has one line each time a function begins to fail, and the
report has every failure under ``function:cost`` and the like.
"""

import logging
import threading
import traceback
from collections.abc import Callable, Iterable
from typing import Any

from asgiref.sync import iscoroutinefunction

logger = logging.getLogger("ratewindow")

MOST_TOLD = 500  # functions that fail at the same time
LONGEST_TOLD = 80  # characters of what was wrong

_lock = threading.Lock()
_listeners: list[Callable[[str, str], None]] = []
failing: set[tuple[str, str]] = set()  # look whether it is empty before calling `worked`: that costs nothing


def is_async(function: Any) -> bool:
    """Whether a call of it, or of an object that is called like one, gives what is to be awaited."""
    return iscoroutinefunction(function) or iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004


def failed(what: str, where: str, error: BaseException, holds: str, rules: Iterable[str] = ()) -> str:
    """The function for `what` (``cost``, ``rate``, ``key``) of `where` is wrong; `holds` says what is done instead.

    Returns the cause under which it is counted, for each of `rules`: their names.
    """
    cause = f"function:{what}"
    for listener in _listeners:
        for rule in dict.fromkeys(rules):
            listener(rule, cause)
    with _lock:
        is_news = (what, where) not in failing and len(failing) < MOST_TOLD
        if is_news:
            failing.add((what, where))
    if is_news:
        logger.error("ratewindow: the %s function of %s is wrong, %s (logged once): %s", what, where, holds, _in_a_line(error))
    return cause


def count(what: str, rule: str) -> None:
    """A rule had to do without what the function would have told it."""
    for listener in _listeners:
        listener(rule, f"function:{what}")


def _in_a_line(error: BaseException) -> str:
    """The error, and where it was raised. In ASCII, not all of it, and without a traceback, which ends in the error's
    text as it is: a function may put into it what a client sent, and a line break would begin a line of its own.
    """
    why = ascii(f"{type(error).__name__}: {error}"[:LONGEST_TOLD])[1:-1]
    frames = traceback.extract_tb(error.__traceback__)
    return f"{why} at {frames[-1].filename}:{frames[-1].lineno}" if frames else why


def worked(what: str, where: str) -> None:
    """It is right again."""
    with _lock:
        failing.discard((what, where))


def listen(listener: Callable[[str, str], None]) -> None:
    """Call `listener` with the rule's name and the cause, whenever a function fails."""
    _listeners.append(listener)


def renew() -> None:
    """In a fork, where a thread that does not exist may hold the lock."""
    global _lock
    _lock = threading.Lock()
