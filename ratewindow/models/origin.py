"""Who edits rows at the moment, by which way and why: for the history, whatever code saves them."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

MOST_BY, MOST_WAY, MOST_REASON = 150, 64, 200  # characters of the columns


@dataclass(frozen=True)
class Origin:
    """`way` is where an edit is made: ``admin``, ``command mode``, ``code``. `user_pk` is that of a signed-in user, if any."""

    way: str = "code"
    by: str = ""
    user_pk: Any = None
    reason: str = ""
    recorded: bool = True  # False for what nobody decides, such as the deletion of blocks that ended long ago


CODE = Origin()

_current: ContextVar[Origin] = ContextVar("ratewindow.origin", default=CODE)


def current() -> Origin:
    return _current.get()


@contextmanager
def edits(way: str, *, by: str = "", user: Any = None, reason: str = "", recorded: bool = True) -> Iterator[None]:
    """Edits within this block have this origin. `user` is a row of the site's user model."""
    name = by or (user.get_username() if user is not None else "")
    token = _current.set(
        Origin(way[:MOST_WAY], name[:MOST_BY], getattr(user, "pk", None), " ".join(reason.split())[:MOST_REASON], recorded)
    )
    try:
        yield
    finally:
        _current.reset(token)
