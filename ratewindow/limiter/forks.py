"""What a forked process renews: the locks, counts, connections and threads that it finds are its parent's.

Python calls a hook after the forks that it makes. A server that forks in C, as uWSGI does, calls none, so a process
also compares its id before it decides or counts.
"""

import os
import threading
import weakref
from collections.abc import Callable
from typing import Any

_owners: "weakref.WeakSet[Any]" = weakref.WeakSet()
_renewals: list[Callable[[], object]] = []
_locks: dict[int, threading.Lock] = {}  # by process: one that was made here is held by no thread of a parent
_pid = os.getpid()


def after_fork(begin_anew: Callable[[], object]) -> None:
    """Call `begin_anew` in every process that is forked from here, in the order of registration."""
    _renewals.append(begin_anew)


def renew_lock_after_fork(owner: Any) -> None:
    """Give `owner` a new `_lock` in every process that is forked from here: whoever held it is not there to release it."""
    _owners.add(owner)


def notice() -> None:
    """Renew everything if this process was forked without Python's hook."""
    pid = os.getpid()
    if pid == _pid:
        return
    with _locks.setdefault(pid, threading.Lock()):
        if pid != _pid:
            _begin_anew()


def _begin_anew() -> None:
    global _pid
    for owner in list(_owners):
        owner._lock = threading.Lock()
    for begin_anew in _renewals:
        begin_anew()
    _pid = os.getpid()  # last: another thread goes on only when all is done


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)
