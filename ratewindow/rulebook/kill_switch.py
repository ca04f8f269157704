"""The kill switch as this process has heard of it, from its row or its key in Redis."""

import logging
import threading
import time

from ratewindow.rules.kill_switch import ON, Switch

logger = logging.getLogger("ratewindow")

_lock = threading.Lock()
turned = ON  # how it was last turned, as far as this process has heard
off = False  # whether limits are off now


def learn(switch: Switch | None = None) -> None:
    """Follow `switch`, if it was turned after what this process has heard; limits are on again when its time is over."""
    global turned, off
    with _lock:
        if switch is not None and switch.at_s > turned.at_s:
            turned = switch
        was_off, off = off, turned.is_off(time.time())
    if off != was_off:
        logger.warning("ratewindow: this process follows, limits are %s", turned.words() if off else "on")


def reset() -> None:
    """As in a process that has heard nothing."""
    global turned, off
    turned, off = ON, False


def renew() -> None:
    """In a fork, where a thread that does not exist may hold the lock."""
    global _lock
    _lock = threading.Lock()
