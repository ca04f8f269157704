"""The one setting, ``RATEWINDOW``: what it may say, its defaults, and what is wrong with it."""

import difflib
import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import timedelta
from typing import Any

from django.conf import settings as django_settings
from django.core import mail

from ratewindow.conf import readers

logger = logging.getLogger("ratewindow")

SETTING = "RATEWINDOW"
MEMORY = "memory://"  # as REDIS: this process counts for itself
ON_ERROR = ("allow", "refuse", "local")
ANONYMIZE = ("none", "secrets", "all")


@dataclass(frozen=True)
class Conf:
    """``RATEWINDOW`` as the code reads it: durations in seconds, networks parsed, defaults filled in."""

    redis: str = "default"  # a CACHES alias or a URL
    key_prefix: str = "rw"  # the first part of every key
    enabled: bool = True  # the kill switch
    timeout_s: float = 0.1  # for one decision, connecting included
    on_error: str = "allow"  # what happens while Redis is down: allow, refuse, local; a rule may differ
    local_processes: int = 1  # how many processes share a limit that is counted locally
    trusted_proxies: tuple[readers.Network, ...] | int = ()  # whose X-Forwarded-For is trusted, or a number of hops
    ipv4_prefix: int = 32  # how much of an address is one client
    ipv6_prefix: int = 64
    headers: tuple[str, ...] = readers.USUAL_HEADERS  # header families of responses
    refresh_s: float = 1.0  # how soon a rule edit acts in every process
    jwt: readers.Jwt | None = None  # how bearer tokens are verified that the site has not verified itself
    anonymize: str = "secrets"  # identities that are stored only as a keyed hash: none, secrets, all
    pepper: tuple[str, ...] = ()  # the keys of these hashes, newest first; empty: SECRET_KEY and its fallbacks
    scope: str | Callable[[Any], Any] | None = None  # a function of the request whose value separates identities
    stats: bool = True  # count for the reports
    retention: Mapping[str, timedelta] = field(  # how long statistics of each resolution are kept
        default_factory=lambda: {**readers.RETENTION}
    )


_READERS = {
    "REDIS": ("redis", readers.redis),
    "KEY_PREFIX": ("key_prefix", readers.prefix),
    "ENABLED": ("enabled", readers.boolean),
    "TIMEOUT": ("timeout_s", readers.seconds),
    "ON_ERROR": ("on_error", readers.choice(ON_ERROR)),
    "LOCAL_PROCESSES": ("local_processes", readers.number(100_000)),
    "TRUSTED_PROXIES": ("trusted_proxies", readers.proxies),
    "IPV4_PREFIX": ("ipv4_prefix", readers.number(32)),
    "IPV6_PREFIX": ("ipv6_prefix", readers.number(128)),
    "HEADERS": ("headers", readers.families),
    "REFRESH": ("refresh_s", readers.seconds),
    "JWT": ("jwt", readers.jwt),
    "ANONYMIZE": ("anonymize", readers.choice(ANONYMIZE)),
    "PEPPER": ("pepper", readers.pepper),
    "SCOPE": ("scope", readers.scope),
    "STATS": ("stats", readers.boolean),
    "RETENTION": ("retention", readers.retention),
}
assert {name for name, _ in _READERS.values()} == {each.name for each in fields(Conf)}


@dataclass(frozen=True)
class WrongSetting:
    """An error in the setting: the key, what is wrong, and what to write instead."""

    key: str
    message: str
    hint: str | None = None


def read(raw: Any) -> tuple[Conf, list[WrongSetting]]:
    """The configuration in `raw`, and its problems; a key with a problem keeps its default."""
    if not isinstance(raw, Mapping):
        return Conf(), [WrongSetting("", f"{SETTING} is {raw!r}, not a dict.", f'Write {SETTING} = {{"REDIS": "..."}}.')]
    values, problems = {}, []
    for key, value in raw.items():
        if key not in _READERS:
            near = difflib.get_close_matches(str(key).upper(), _READERS, n=1, cutoff=0.4)
            hint = f"Did you mean {near[0]!r}?" if near else f"Known keys: {', '.join(_READERS)}."
            problems.append(WrongSetting(str(key), f"{SETTING} has an unknown key {key!r}.", hint))
            continue
        name, reader = _READERS[key]
        try:
            values[name] = reader(value)
        except ValueError as error:
            problems.append(WrongSetting(key, f"{SETTING}[{key!r}]: {error}."))
    return Conf(**values), problems


class _Held:
    """Holds one reading of the setting. `forget` replaces it as a whole: what a thread reads meanwhile is dropped with it."""

    conf: Conf | None = None


_held = _Held()


def current() -> Conf:
    """The configuration in force. System checks stop a command where a key is wrong; a server that runs no checks uses its
    default, and logs that once."""
    return _held.conf or _read_into(_held)


def is_current(settings: Conf | None) -> bool:
    """Whether this configuration is still in force; unlike `current`, this cannot fail."""
    return settings is _held.conf


def _read_into(held: _Held) -> Conf:
    found, wrong = read(getattr(django_settings, SETTING, {}))
    held.conf = replace(found, redis=MEMORY) if _is_swapped_for_tests(found.redis) else found
    for problem in wrong:
        logger.error("ratewindow: %s", " ".join(filter(None, (problem.message, problem.hint))))
    return held.conf


def peppers() -> tuple[str, ...]:
    """The keys of the hashes of identities: the first makes new ones, and what any of them has made is found."""
    return current().pepper or _secret_keys()


def _secret_keys() -> tuple[str, ...]:
    return tuple(map(str, (django_settings.SECRET_KEY, *django_settings.SECRET_KEY_FALLBACKS)))


def written() -> Conf:
    """The configuration in the settings, also while a test run uses memory instead of Redis."""
    return read(getattr(django_settings, SETTING, {}))[0]


def _is_swapped_for_tests(name: str) -> bool:
    """Whether a test run has replaced the cache on Redis by one in the process; then limits are counted in memory, too."""
    cache = django_settings.CACHES.get(name, {})
    return cache.get("BACKEND") in _IN_PROCESS and tests_run()


def tests_run() -> bool:
    """Whether Django's test environment is set up here."""
    return hasattr(mail, "outbox")


_IN_PROCESS = ("django.core.cache.backends.locmem.LocMemCache", "django.core.cache.backends.dummy.DummyCache")


def problems() -> Iterator[WrongSetting]:
    """What is wrong with the setting, for the system checks."""
    yield from read(getattr(django_settings, SETTING, {}))[1]


def forget() -> Conf | None:
    """Read the setting again at the next use. Returns the configuration that was in force, if it was used."""
    global _held
    before, _held = _held, _Held()
    return before.conf
