"""Locks in a forked child: whoever held one in the parent is not there to let it go."""

import os
import threading
import weakref
from typing import Any

_owners: "weakref.WeakSet[Any]" = weakref.WeakSet()


def renew_lock_after_fork(owner: Any) -> None:
    """Give `owner` a new `_lock` in every child that is forked from here."""
    _owners.add(owner)


def _renew() -> None:
    for owner in list(_owners):
        owner._lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)
