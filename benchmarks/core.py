"""One core for client and server: a call that wakes another core takes two or three times as long as one that does not.

Which of the two happens is the kernel's choice, and changes within a run; on one core every ratio is at its
strictest, since nothing is in it but work.
"""

import os

_ALL = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()


def share_one() -> None:
    """Keep this process, and those it starts from now on, to its last core, where the system lets us."""
    if _ALL:
        os.sched_setaffinity(0, {max(_ALL)})


def take_any() -> None:
    """For what loads the server from beside: all cores again."""
    if _ALL:
        os.sched_setaffinity(0, _ALL)
