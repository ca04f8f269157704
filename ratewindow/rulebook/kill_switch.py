"""The kill switch as this process knows it, from its row or its key in Redis."""

import logging
import threading
import time

from ratewindow.rules.kill_switch import ON, Switch

logger = logging.getLogger("ratewindow")

_lock = threading.Lock()
turned = ON  # the last turn that this process knows of
off = False  # whether limits are off now


def learn(switch: Switch | None = None) -> None:
    """Follow `switch` if it is newer than the last known turn; limits are on again when its time is over."""
    global turned, off
    with _lock:
        if switch is not None and switch.at_s > turned.at_s:
            turned = switch
        was_off, off = off, turned.is_off(time.time())
    if off != was_off:
        logger.warning("ratewindow: this process follows, limits are %s", turned.words() if off else "on")


def reset() -> None:
    """As in a process that knows of no turn."""
    global turned, off
    turned, off = ON, False


def renew() -> None:
    """In a fork: a thread that does not exist here may hold the lock."""
    global _lock
    _lock = threading.Lock()
