"""The kill switch as this process knows it, from its row or its key in Redis.

Of two sites that share a key prefix by mistake, each follows its own switch: staff of the one have no say in the other.
"""

import logging
import threading
import time
from dataclasses import replace

from ratewindow.rules.kill_switch import ON, Switch, from_text
from ratewindow.store import state_keys

logger = logging.getLogger("ratewindow")

_lock = threading.Lock()
turned = ON  # the last turn that this process knows of
off = False  # whether limits are off now
_named_at_s = 0.0  # the last turn by another site that the log has named


def learn(switch: Switch | None = None) -> None:
    """Follow `switch` if it is newer than the last known turn; limits are on again when its time is over."""
    global turned, off
    with _lock:
        if switch is not None and switch.at_s > turned.at_s:
            turned = switch
        was_off, off = off, turned.is_off(time.time())
    if off != was_off:
        logger.warning("ratewindow: this process follows, limits are %s", turned.words() if off else "on")


def to_redis(switch: Switch) -> str:
    """What the key in Redis has to say, which names this site."""
    return replace(switch, site=state_keys.fingerprint()).to_text()


def from_redis(text: str | bytes | None) -> Switch | None:
    """What the key in Redis says; None, and one line in the log, if another site has turned that switch."""
    switch = from_text(text)
    if switch is None or switch.site in ("", state_keys.fingerprint()):
        return switch
    _name_site_of(switch)
    return None


def _name_site_of(switch: Switch) -> None:
    global _named_at_s
    with _lock:
        is_new, _named_at_s = switch.at_s != _named_at_s, switch.at_s
    if is_new:
        logger.warning(
            "ratewindow: Another site (%s) has switched limits %s, under the key %s of this site (%s), which does not follow. "
            "Give each site its own RATEWINDOW['KEY_PREFIX'], unless it is this one, by another address of its database.",
            *(switch.site, switch.words(), state_keys.switch(), state_keys.fingerprint()),
        )


def reset() -> None:
    """As in a process that knows of no turn."""
    global turned, off, _named_at_s
    turned, off, _named_at_s = ON, False, 0.0


def renew() -> None:
    """In a fork: a thread that does not exist here may hold the lock."""
    global _lock
    _lock = threading.Lock()
