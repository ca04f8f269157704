"""The one setting, ``RATEWINDOW``: what it may say, its defaults, and what is wrong with it."""

import difflib
import ipaddress
import logging
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, NamedTuple

from django.conf import settings as django_settings
from django.core import mail

from ratewindow.limiter.durations import parse_duration

logger = logging.getLogger("ratewindow")

SETTING = "RATEWINDOW"
MEMORY = "memory://"  # as REDIS: this process counts for itself
ON_ERROR = ("allow", "refuse", "local")
ANONYMIZE = ("none", "secrets", "all")
USUAL_HEADERS = ("ratelimit", "x-ratelimit")
HEADER_FAMILIES = (*USUAL_HEADERS, "ratelimit-draft-6", "ratelimit-draft-7")
LEAST_PEPPER = 16  # characters of a key
MOST_KEPT_DAYS = 10_000  # dates overflow far beyond it, and timeouts beyond a day
RETENTION = {"minute": timedelta(days=2), "hour": timedelta(days=60), "day": timedelta(days=730)}

Network = ipaddress.IPv4Network | ipaddress.IPv6Network

# IPv4 addresses in the last 32 bits of IPv6 addresses, which would otherwise all belong to one /64.
# Mapped; translated by SIIT; by NAT64 with the well-known prefix; by NAT64 with the local one.
_FIRST_96_BITS = frozenset(
    int(ipaddress.IPv6Address(network)) >> 32 for network in ("::ffff:0:0", "::ffff:0:0:0", "64:ff9b::", "64:ff9b:1::")
)


@dataclass(frozen=True)
class Conf:
    """``RATEWINDOW`` as the code reads it: durations in seconds, networks parsed, defaults filled in."""

    redis: str = "default"  # a CACHES alias or a URL
    key_prefix: str = "rw"  # the first part of every key
    enabled: bool = True  # the kill switch
    timeout_s: float = 0.1  # for one decision, connecting included
    on_error: str = "allow"  # what happens while Redis is down: allow, refuse, local; a rule may differ
    local_processes: int = 1  # how many processes share a limit that is counted locally
    trusted_proxies: tuple[Network, ...] | int = ()  # whose X-Forwarded-For is trusted, or a number of hops
    ipv4_prefix: int = 32  # how much of an address is one client
    ipv6_prefix: int = 64
    headers: tuple[str, ...] = USUAL_HEADERS  # header families of responses
    refresh_s: float = 1.0  # how soon a rule edit acts in every process
    anonymize: str = "secrets"  # identities that are stored only as a keyed hash: none, secrets, all
    pepper: tuple[str, ...] = ()  # the keys of these hashes, newest first; empty: SECRET_KEY and its fallbacks
    scope: str | Callable[[Any], Any] | None = None  # a function of the request whose value separates identities
    stats: bool = True  # count for the reports
    retention: Mapping[str, timedelta] = field(  # how long statistics of each resolution are kept
        default_factory=lambda: {**RETENTION}
    )


# Each reads a value of the setting: a ValueError says what is wrong with it, and what to write instead.


def _one(is_good: Callable[[Any], Any], wrong: str) -> Callable[[Any], Any]:
    """A reader of values that are used as they are."""

    def read(value: Any) -> Any:
        if not is_good(value):
            raise ValueError(f"{value!r} is {wrong}")
        return value

    return read


def _number(most: int) -> Callable[[Any], Any]:
    return _one(lambda value: type(value) is int and 1 <= value <= most, f"not a whole number from 1 to {most}")


def _choice(known: tuple[str, ...]) -> Callable[[Any], Any]:
    return _one(lambda value: value in known, f"unknown: choose from {', '.join(known)}")


def is_dotted_path(text: str) -> bool:
    """Whether a text has the form of a path to a function."""
    return "." in text and all(step.isidentifier() for step in text.split("."))


def seconds(value: Any) -> float:
    return _at_most(value, 1) / 1000


def proxies(value: Any) -> tuple[Network, ...] | int:
    if isinstance(value, int) and not isinstance(value, bool):
        if value < 0:
            raise ValueError(f"{value!r} hops: write 0 or more")
        return value
    if not isinstance(value, list | tuple):
        raise ValueError(f"{value!r} is neither a list of networks nor a number of hops")
    return tuple(map(_network, value))


def _network(item: Any) -> Network:
    try:
        network = ipaddress.ip_network(item if isinstance(item, str | Network) else "", strict=False)  # 1 would be 0.0.0.1
    except ValueError:
        raise ValueError(f"{item!r} is not a network: write for example '10.0.0.0/8' or '::1'") from None
    if network.version == 6 and network.prefixlen >= 96 and (first := ipv4_in(int(network.network_address))) is not None:
        return ipaddress.IPv4Network((first, network.prefixlen - 96))  # as clients' addresses are compared
    return network


def pepper(value: Any) -> tuple[str, ...]:
    # The messages are without the value, which is secret.
    if not isinstance(value, list | tuple) or not value or not all(isinstance(each, str) for each in value):
        raise ValueError("it is not a list of texts: write ['the newest key', 'the one before']")
    for number, each in enumerate(value, 1):
        if len(each) < LEAST_PEPPER:
            raise ValueError(f"key {number} has {len(each)} characters: write at least {LEAST_PEPPER}, so that nobody guesses it")
    return tuple(dict.fromkeys(value))


def families(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list | tuple):
        raise ValueError(f"{value!r} is not a list of header families")
    chosen = tuple(map(_choice(HEADER_FAMILIES), value))
    if {"ratelimit", "ratelimit-draft-7"} <= {*chosen}:
        raise ValueError("'ratelimit' and 'ratelimit-draft-7' are two forms of the same headers: choose one of them")
    return chosen


def retention(value: Any) -> Mapping[str, timedelta]:
    if not isinstance(value, Mapping):
        raise ValueError(f"{value!r} is not a dict of minute, hour and day")
    known = _choice(tuple(RETENTION))
    return {**RETENTION, **{known(name): timedelta(milliseconds=_at_most(text, MOST_KEPT_DAYS)) for name, text in value.items()}}


def _at_most(value: Any, days: int) -> int:
    """Milliseconds."""
    milliseconds = parse_duration(value)
    if milliseconds > days * 86_400_000:
        raise ValueError(f"{value!r} is too long: write at most {days}d")
    return milliseconds


def ipv4_in(number: int) -> int | None:
    """The IPv4 address that an IPv6 address contains, both as numbers."""
    return number & 0xFFFFFFFF if number >> 32 in _FIRST_96_BITS else None


_boolean = _one(lambda value: isinstance(value, bool), "neither True nor False")
_READERS = {
    "REDIS": (
        "redis",
        _one(
            lambda value: value and isinstance(value, str),
            "not an address of a Redis: write a URL such as redis://localhost:6379/0, or an alias in CACHES",
        ),
    ),
    "KEY_PREFIX": (
        "key_prefix",
        _one(
            lambda value: isinstance(value, str) and re.fullmatch(r"[A-Za-z0-9._-]{1,16}", value),
            "not 1 to 16 letters, digits, dots, dashes or underscores",
        ),
    ),
    "ENABLED": ("enabled", _boolean),
    "TIMEOUT": ("timeout_s", seconds),
    "ON_ERROR": ("on_error", _choice(ON_ERROR)),
    "LOCAL_PROCESSES": ("local_processes", _number(100_000)),
    "TRUSTED_PROXIES": ("trusted_proxies", proxies),
    "IPV4_PREFIX": ("ipv4_prefix", _number(32)),
    "IPV6_PREFIX": ("ipv6_prefix", _number(128)),
    "HEADERS": ("headers", families),
    "REFRESH": ("refresh_s", seconds),
    "ANONYMIZE": ("anonymize", _choice(ANONYMIZE)),
    "PEPPER": ("pepper", pepper),
    "SCOPE": (
        "scope",
        _one(
            lambda value: value is None or callable(value) or (isinstance(value, str) and is_dotted_path(value)),
            "neither a function of the request nor the dotted path of one: write 'shop.limits.tenant'",
        ),
    ),
    "STATS": ("stats", _boolean),
    "RETENTION": ("retention", retention),
}


class WrongSetting(NamedTuple):
    """An error in the setting: what is wrong, and what to write instead."""

    message: str
    hint: str = ""


def read(raw: Any) -> tuple[Conf, list[WrongSetting]]:
    """The configuration in `raw`, and its problems; a key with a problem keeps its default."""
    if not isinstance(raw, Mapping):
        return Conf(), [WrongSetting(f"{SETTING} is {raw!r}, not a dict.", f'Write {SETTING} = {{"REDIS": "..."}}.')]
    values, problems = {}, []
    for key, value in raw.items():
        if key not in _READERS:
            near = difflib.get_close_matches(str(key).upper(), _READERS, n=1, cutoff=0.4)
            hint = f"Did you mean {near[0]!r}?" if near else f"Known keys: {', '.join(_READERS)}."
            problems.append(WrongSetting(f"{SETTING} has an unknown key {key!r}.", hint))
            continue
        name, reader = _READERS[key]
        try:
            values[name] = reader(value)
        except ValueError as error:
            problems.append(WrongSetting(f"{SETTING}[{key!r}]: {error}."))
    return Conf(**values), problems


class _Held:
    """Holds one reading of the setting. `forget` replaces it as a whole: what a thread reads meanwhile is dropped with it."""

    conf: Conf | None = None


_held = _Held()


def current() -> Conf:
    """The configuration in force. System checks stop a command where a key is wrong; a server that runs no checks uses its
    default, and logs that once."""
    return _held.conf or _read_into(_held)


def _read_into(held: _Held) -> Conf:
    found, wrong = written()
    # A test run may have replaced the cache on Redis by one in the process; then limits are counted in memory, too.
    is_swapped = django_settings.CACHES.get(found.redis, {}).get("BACKEND") in _IN_PROCESS and tests_run()
    held.conf = replace(found, redis=MEMORY) if is_swapped else found
    for problem in wrong:
        logger.error("ratewindow: %s", " ".join(filter(None, (problem.message, problem.hint))))
    return held.conf


def peppers() -> tuple[str, ...]:
    """The keys of the hashes of identities: the first makes new ones, and what any of them has made is found."""
    return current().pepper or tuple(map(str, (django_settings.SECRET_KEY, *django_settings.SECRET_KEY_FALLBACKS)))


# Settings of another package that say what `SETTING` leaves unsaid: by their name, the key and what makes its value of theirs.
others: dict[str, tuple[str, Callable[[Any], Any]]] = {}


def written() -> tuple[Conf, list[WrongSetting]]:
    """What the settings say, also while a test run uses memory instead of Redis, and what is wrong with it."""
    said = getattr(django_settings, SETTING, {})
    found = {key: of(getattr(django_settings, name)) for name, (key, of) in others.items() if hasattr(django_settings, name)}
    return read({**found, **said} if isinstance(said, Mapping) else said)


def tests_run() -> bool:
    """Whether Django's test environment is set up here."""
    return hasattr(mail, "outbox")


_IN_PROCESS = ("django.core.cache.backends.locmem.LocMemCache", "django.core.cache.backends.dummy.DummyCache")


def forget() -> Conf | None:
    """Read the setting again at the next use. Returns the configuration that was in force, if it was used."""
    global _held
    before, _held = _held, _Held()
    return before.conf
