"""The one setting, ``RATEWINDOW``: what it may say, its defaults, and what is wrong with it."""

import difflib
import ipaddress
import logging
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import timedelta
from typing import Any

from django.conf import settings as django_settings
from django.core import mail

from ratewindow.conf import networks as ipv4in6
from ratewindow.limiter.durations import parse_duration

logger = logging.getLogger("ratewindow")

SETTING = "RATEWINDOW"
MEMORY = "memory://"  # as REDIS: this process counts for itself
USUAL_HEADERS = ("ratelimit", "x-ratelimit")
HEADER_FAMILIES = (*USUAL_HEADERS, "ratelimit-draft-6", "ratelimit-draft-7")
ON_ERROR = ("allow", "refuse", "local")
ANONYMIZE = ("none", "secrets", "all")
LEAST_PEPPER = 16  # characters of a key
MOST_WAIT_MS = 86_400_000  # timeouts of sockets and threads overflow far beyond it
MOST_KEPT_MS = 10_000 * 86_400_000  # dates overflow far beyond it

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


@dataclass(frozen=True)
class Jwt:
    """How a bearer token must be signed, and for and by whom, for its claims to be used as keys."""

    key: str
    algorithms: tuple[str, ...]
    audience: tuple[str, ...] = ()  # empty: any
    issuer: tuple[str, ...] = ()


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
    jwt: Jwt | None = None  # how bearer tokens are verified that the site has not verified itself
    anonymize: str = "secrets"  # identities that are stored only as a keyed hash: none, secrets, all
    pepper: tuple[str, ...] = ()  # the keys of these hashes, newest first; empty: SECRET_KEY and its fallbacks
    scope: str | Callable[[Any], Any] | None = None  # a function of the request whose value separates identities
    stats: bool = True  # count for the reports
    retention: Mapping[str, timedelta] = field(  # how long statistics of each resolution are kept
        default_factory=lambda: {"minute": timedelta(days=2), "hour": timedelta(days=60), "day": timedelta(days=730)}
    )


def _boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{value!r} is neither True nor False")
    return value


def _redis(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError(
            f"{value!r} is not an address of a Redis: write a URL such as redis://localhost:6379/0, or an alias in CACHES"
        )
    return value


def _prefix(value: Any) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"[A-Za-z0-9._-]{1,16}", value):
        raise ValueError(f"{value!r} is not 1 to 16 letters, digits, dots, dashes or underscores")
    return value


def _seconds(value: Any) -> float:
    milliseconds = parse_duration(value)
    if milliseconds > MOST_WAIT_MS:
        raise ValueError(f"{value!r} is too long: write at most 1d")
    return milliseconds / 1000


def _number(most: int) -> Any:
    def check(value: Any) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most:
            raise ValueError(f"{value!r} is not a whole number from 1 to {most}")
        return value

    return check


def _choice(known: tuple[str, ...]) -> Any:
    def check(value: Any) -> str:
        if value not in known:
            raise ValueError(f"{value!r} is unknown: choose from {', '.join(known)}")
        return str(value)

    return check


def _proxies(value: Any) -> tuple[Network, ...] | int:
    if isinstance(value, int) and not isinstance(value, bool):
        if value < 0:
            raise ValueError(f"{value!r} hops: write 0 or more")
        return value
    if not isinstance(value, list | tuple):
        raise ValueError(f"{value!r} is neither a list of networks nor a number of hops")
    networks = []
    for item in value:
        try:
            networks.append(_network(item))
        except ValueError:
            raise ValueError(f"{item!r} is not a network: write for example '10.0.0.0/8' or '::1'") from None
    return tuple(networks)


def _network(item: Any) -> Network:
    if not isinstance(item, str | Network):
        raise ValueError  # ip_network() would take 1 for 0.0.0.1
    network = ipaddress.ip_network(item, strict=False)
    first = int(network.network_address)
    if network.version == 6 and network.prefixlen >= 96 and ipv4in6.is_ipv4(first):  # as clients' addresses are compared
        return ipaddress.IPv4Network((ipv4in6.ipv4_of(first), network.prefixlen - 96))
    return network


def _scope(value: Any) -> Any:
    is_path = isinstance(value, str) and "." in value and all(step.isidentifier() for step in value.split("."))
    if value is not None and not callable(value) and not is_path:
        raise ValueError(f"{value!r} is neither a function of the request nor the dotted path of one: write 'shop.limits.tenant'")
    return value


def _pepper(value: Any) -> tuple[str, ...]:
    # The messages are without the value, which is secret.
    if not isinstance(value, list | tuple) or not value or not all(isinstance(each, str) for each in value):
        raise ValueError("it is not a list of texts: write ['the newest key', 'the one before']")
    for number, each in enumerate(value, 1):
        if len(each) < LEAST_PEPPER:
            raise ValueError(f"key {number} has {len(each)} characters: write at least {LEAST_PEPPER}, so that nobody guesses it")
    return tuple(dict.fromkeys(value))


def _families(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list | tuple):
        raise ValueError(f"{value!r} is not a list of header families")
    for item in value:
        if item not in HEADER_FAMILIES:
            raise ValueError(f"{item!r} is not a header family: choose from {', '.join(HEADER_FAMILIES)}")
    if {"ratelimit", "ratelimit-draft-7"} <= set(value):
        raise ValueError("'ratelimit' and 'ratelimit-draft-7' are two forms of the same headers: choose one of them")
    return tuple(value)


def _retention(value: Any) -> Mapping[str, timedelta]:
    default = Conf().retention
    if not isinstance(value, Mapping):
        raise ValueError(f"{value!r} is not a dict of minute, hour and day")
    for resolution in value:
        if resolution not in default:
            raise ValueError(f"{resolution!r} is not a resolution: choose from {', '.join(default)}")
    return {**default, **{name: _kept(text) for name, text in value.items()}}


def _kept(text: Any) -> timedelta:
    milliseconds = parse_duration(text)
    if milliseconds > MOST_KEPT_MS:
        raise ValueError(f"{text!r} is too long: write at most 10000d")
    return timedelta(milliseconds=milliseconds)


JWT_INSTALL = "pip install 'ratewindow[jwt]'"
_JWT_EXAMPLE = '{"KEY": "...", "ALGORITHMS": ["HS256"]}'


def _jwt(value: Any) -> Jwt | None:
    if value is None:
        return None
    if not isinstance(value, Mapping) or not {"KEY", "ALGORITHMS"} <= set(value):
        # Without the value, which may contain the secret.
        raise ValueError(f"it is not a dict with KEY and ALGORITHMS: write for example {_JWT_EXAMPLE}")
    if unknown := sorted(map(str, set(value) - {"KEY", "ALGORITHMS", "AUDIENCE", "ISSUER"})):
        raise ValueError(f"{unknown[0]!r} is unknown: choose from KEY, ALGORITHMS, AUDIENCE, ISSUER")
    if not isinstance(value["KEY"], str) or not value["KEY"].strip():
        raise ValueError("KEY is not text: write the secret, or the public key in PEM")
    audience, issuer = (_texts(each, value.get(each, ())) for each in ("AUDIENCE", "ISSUER"))
    return Jwt(value["KEY"], _algorithms(value["ALGORITHMS"]), audience, issuer)


def _algorithms(value: Any) -> tuple[str, ...]:
    try:
        from jwt.algorithms import get_default_algorithms
    except ImportError:
        raise ValueError(f"verifying tokens needs PyJWT, which is not installed: {JWT_INSTALL}") from None
    names = _texts("ALGORITHMS", value)
    known = sorted(set(get_default_algorithms()) - {"none"})
    for name in names:
        if name not in known:
            raise ValueError(f"ALGORITHMS has {name!r}, which PyJWT does not know here: choose from {', '.join(known)}")
    if not names:
        raise ValueError(f"ALGORITHMS is empty: write for example {_JWT_EXAMPLE}")
    if len({name.startswith("HS") for name in names}) > 1:
        raise ValueError("ALGORITHMS mixes secrets and public keys: with a public key as the secret, anybody could sign")
    return names


def _texts(name: str, value: Any) -> tuple[str, ...]:
    texts = (value,) if isinstance(value, str) else value
    if not isinstance(texts, list | tuple) or not all(isinstance(each, str) and each for each in texts):
        raise ValueError(f"{name} is neither text nor a list of texts")
    return tuple(texts)


_READERS = {
    "REDIS": ("redis", _redis),
    "KEY_PREFIX": ("key_prefix", _prefix),
    "ENABLED": ("enabled", _boolean),
    "TIMEOUT": ("timeout_s", _seconds),
    "ON_ERROR": ("on_error", _choice(ON_ERROR)),
    "LOCAL_PROCESSES": ("local_processes", _number(100_000)),
    "TRUSTED_PROXIES": ("trusted_proxies", _proxies),
    "IPV4_PREFIX": ("ipv4_prefix", _number(32)),
    "IPV6_PREFIX": ("ipv6_prefix", _number(128)),
    "HEADERS": ("headers", _families),
    "REFRESH": ("refresh_s", _seconds),
    "JWT": ("jwt", _jwt),
    "ANONYMIZE": ("anonymize", _choice(ANONYMIZE)),
    "PEPPER": ("pepper", _pepper),
    "SCOPE": ("scope", _scope),
    "STATS": ("stats", _boolean),
    "RETENTION": ("retention", _retention),
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


_current: Conf | None = None


def current() -> Conf:
    """The configuration in force. System checks stop a command where a key is wrong; a server that runs no checks uses its
    default, and logs that once."""
    global _current
    if _current is None:
        found, wrong = read(getattr(django_settings, SETTING, {}))
        _current = replace(found, redis=MEMORY) if _is_swapped_for_tests(found.redis) else found
        for problem in wrong:
            logger.error("ratewindow: %s", " ".join(filter(None, (problem.message, problem.hint))))
    return _current


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
    return cache.get("BACKEND") in _IN_PROCESS and hasattr(mail, "outbox")  # which Django's test environment has


_IN_PROCESS = ("django.core.cache.backends.locmem.LocMemCache", "django.core.cache.backends.dummy.DummyCache")


def problems() -> Iterator[WrongSetting]:
    """What is wrong with the setting, for the system checks."""
    yield from read(getattr(django_settings, SETTING, {}))[1]


def forget() -> Conf | None:
    """Read the setting again at the next use. Returns the configuration that was in force, if it was used."""
    global _current
    before, _current = _current, None
    return before
