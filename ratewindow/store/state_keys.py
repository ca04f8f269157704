"""The name of every Redis key of the core, what it holds and how long it lives. Rooms name their own: `Room.key_names`.

=====================================  ======  ==========================================================
name                                   type    what
=====================================  ======  ==========================================================
``rw:s:<rule><window>:{<identity>}``   string  state of one window of one rule for one client, of a log a list, or that something
                                               was told of it; expires
``rw:s:<rule><lock>:{<identity>}``     string  when a penalty began that locks one client out of one rule; expires
``rw:s:probe``                         string  what a probe of a silent server counts; expires
``rw:token``                           string  changed by each rule edit; processes compare it
``rw:switch:{rw:token}``               string  the kill switch as it was last turned; read together with the token
``rw:{processes}``                     zset    the processes that have a record: name -> when; expires
``rw:{processes}:<name>``              string  the record of one process, as JSON; expires within seconds
``rw:{minutes}``                       zset    the minutes that have counts, for the collector; expires
``rw:{minutes}:<minute>``              hash    counts of one minute: field process|rule, value sums; expires
``rw:{minutes}:<minute>:who``          hash    who was refused in one minute: as above; expires
``rw:sites``                           hash    which sites use this prefix: fingerprint -> last seen, server
=====================================  ======  ==========================================================

``<rule>``, ``<window>`` and ``<lock>`` are eight characters each: digests of the rule's name, of what makes a
count unusable when it changes (algorithm, period, the clock it begins with), and of the word lock.
``<identity>`` is a keyed digest in braces, so that on a cluster all state of one client lies in one slot. So do
all minutes and their index, which are written in one transaction.
"""

from functools import cache, lru_cache

from ratewindow import conf
from ratewindow.limiter.keys import LAYOUT, digest, identity_tag

key_names = ("s", "token", "switch", "{processes}", "{minutes}", "sites")  # after the prefix
LOCK_TAG = digest(f"{LAYOUT} lock", 6)


def token() -> str:
    return f"{conf.current().key_prefix}:token"


def switch() -> str:
    """In the slot of the token, on a cluster, so that one call reads both."""
    return f"{conf.current().key_prefix}:switch:{{{token()}}}"


def processes() -> str:
    return f"{conf.current().key_prefix}:{{processes}}"


def process(name: str) -> str:
    return f"{processes()}:{name}"


def minutes() -> str:
    return f"{conf.current().key_prefix}:{{minutes}}"


def minute(number: int) -> str:
    """`number` is the minute since the epoch, time // 60."""
    return f"{minutes()}:{number}"


def minute_who(number: int) -> str:
    """Apart from the sums, which pages read more often."""
    return f"{minute(number)}:who"


def sites() -> str:
    return f"{conf.current().key_prefix}:sites"


def state_prefix() -> str:
    return f"{conf.current().key_prefix}:s:"


def probe() -> str:
    """Under the prefix of states: a user without permission for those must fail the probe, too."""
    return f"{state_prefix()}probe"


@lru_cache(maxsize=4096)
def rule_tag(name: str, is_beside: bool = False) -> str:
    """Eight characters for a rule. What is in shadow beside the one that is enforced counts on its own."""
    return digest(f"{name} beside code" if is_beside else name, 6)


def state_name(rule: str, tag: str, is_beside: bool) -> str:
    """The middle of a state's key: ``:s:<rule><window>:``, by the tag of a window, or by `LOCK_TAG`."""
    return f":s:{rule_tag(rule, is_beside)}{tag}:"


@lru_cache(maxsize=4096)
def client_tag(identity: str) -> str:
    """The end of a state's key: a digest that cannot be made without the newest pepper. Identities longer than `MOST_REMEMBERED`
    are what somebody sends to fill the memory: of these call `client_tag.__wrapped__`."""
    return identity_tag(identity, _secret())


def state(name: str, tag: str) -> str:
    """The key of a state: `name` is that of `state_name`, `tag` that of the client."""
    return f"{conf.current().key_prefix}{name}{tag}"


def client_tags(identity: str) -> list[str]:
    """The ends that the keys of a client's states have had, by each pepper, the newest first."""
    return [identity_tag(identity, _secret_of(pepper)) for pepper in conf.peppers()]


def secret_fingerprint() -> str:
    """Tells apart processes with different peppers, who would count under different names."""
    return digest("fingerprint", 6, _secret())


@cache
def _secret() -> bytes:
    return _secret_of(conf.peppers()[0])


def _secret_of(pepper: str) -> bytes:
    return digest(f"ratewindow {pepper}", 30).encode()


def forget_secret() -> None:
    """Read the pepper again: a test has changed it."""
    _secret.cache_clear()
    client_tag.cache_clear()
