"""Addresses that are trusted for an account, since it has lately logged in from there.

Each is a key in Redis, which is set beside the refund of the login; a process remembers those that it has set or found.
"""

import time
from typing import Any

from redis.exceptions import RedisError

from ratewindow import conf
from ratewindow.limiter.keys import joined
from ratewindow.limiter.types import Flag
from ratewindow.store import outage, process_clients, state_keys

TRUST_S = 86_400
REREAD_S = 600  # how long a process believes what it has read
MOST_REMEMBERED = 10_000

_until: dict[str, float] = {}  # by key


def flag_of(account: Any, name: str, address: str) -> Flag:
    """The key in Redis that marks the address as trusted. It names the account and its password, so that a new password ends the
    trust; if there is no account, what was typed. It is a digest that cannot be made without the pepper."""
    whose = f"name:{name}" if account is None else f"account:{account.pk}:{getattr(account, 'password', '')}"
    tag = state_keys.client_tag.__wrapped__(joined((whose, address)))  # not remembered: clients choose names
    return Flag(f"{conf.current().key_prefix}:login:{tag}", TRUST_S * 1000)


def is_fresh(flag: Flag) -> bool:
    """Whether this process has set it lately, so that it need not do so again."""
    return _until.get(flag.key, 0.0) > time.monotonic() + TRUST_S / 2


def is_trusted(flag: Flag) -> bool:
    """Whether the account has lately logged in from there. A server that does not answer has not said so."""
    if _until.get(flag.key, 0.0) > time.monotonic():
        return True
    if process_clients.in_memory() or outage.breaker.open:
        return False
    try:
        if not process_clients.client().get(flag.key):
            return False
    except (RedisError, OSError) as error:
        outage.report(error)
        return False
    remember(flag, REREAD_S)
    return True


def forget() -> None:
    """Trust no address: in a fork, and for tests."""
    _until.clear()


def remember(flag: Flag, seconds: float = TRUST_S) -> None:
    """It has just been set, or was found so many seconds before it is looked for again."""
    if len(_until) >= MOST_REMEMBERED:
        _until.clear()  # Redis still knows
    _until[flag.key] = time.monotonic() + seconds
