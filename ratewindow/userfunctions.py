"""Functions of the site's own, such as a cost or a key: what one does wrong is told and counted, not raised.

Whoever calls such a function catches what it raises, refuses what it returns wrongly, and calls `failed` here; `worked`
ends that, and the next failure is news again. So the log has one line each time a function begins to fail, and the
report has every failure under ``function:cost`` and the like.
"""

import logging
import threading
from collections.abc import Callable, Iterable

logger = logging.getLogger("ratewindow")

MOST_TOLD = 500  # functions that fail at the same time
LONGEST_TOLD = 80  # characters of what was wrong

_lock = threading.Lock()
_listeners: list[Callable[[str, str], None]] = []
failing: set[tuple[str, str]] = set()  # look whether it is empty before calling `worked`: that costs nothing


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
        # In ASCII, and not all of it: it may be what a client sent.
        why = f"{type(error).__name__}: {error}"[:LONGEST_TOLD].encode("ascii", "backslashreplace").decode()
        logger.error("ratewindow: the %s function of %s is wrong, %s (told once): %s", what, where, holds, why, exc_info=error)
    return cause


def worked(what: str, where: str) -> None:
    """It is right again."""
    with _lock:
        failing.discard((what, where))


def listen(listener: Callable[[str, str], None]) -> None:
    """Call `listener` with the rule's name and the cause, whenever a function fails."""
    _listeners.append(listener)
