"""Reads each value of the setting: a ValueError says what is wrong with one, and what to write instead."""

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from ratewindow.conf import networks as ipv4in6
from ratewindow.limiter.durations import parse_duration

USUAL_HEADERS = ("ratelimit", "x-ratelimit")
HEADER_FAMILIES = (*USUAL_HEADERS, "ratelimit-draft-6", "ratelimit-draft-7")
LEAST_PEPPER = 16  # characters of a key
MOST_WAIT_MS = 86_400_000  # timeouts of sockets and threads overflow far beyond it
MOST_KEPT_MS = 10_000 * 86_400_000  # dates overflow far beyond it
RETENTION = {"minute": timedelta(days=2), "hour": timedelta(days=60), "day": timedelta(days=730)}

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


@dataclass(frozen=True)
class Jwt:
    """How a bearer token must be signed, and for and by whom, for its claims to be used as keys."""

    key: str
    algorithms: tuple[str, ...]
    audience: tuple[str, ...] = ()  # empty: any
    issuer: tuple[str, ...] = ()


def boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{value!r} is neither True nor False")
    return value


def redis(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError(
            f"{value!r} is not an address of a Redis: write a URL such as redis://localhost:6379/0, or an alias in CACHES"
        )
    return value


def prefix(value: Any) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"[A-Za-z0-9._-]{1,16}", value):
        raise ValueError(f"{value!r} is not 1 to 16 letters, digits, dots, dashes or underscores")
    return value


def seconds(value: Any) -> float:
    milliseconds = parse_duration(value)
    if milliseconds > MOST_WAIT_MS:
        raise ValueError(f"{value!r} is too long: write at most 1d")
    return milliseconds / 1000


def number(most: int) -> Any:
    def check(value: Any) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most:
            raise ValueError(f"{value!r} is not a whole number from 1 to {most}")
        return value

    return check


def choice(known: tuple[str, ...]) -> Any:
    def check(value: Any) -> str:
        if value not in known:
            raise ValueError(f"{value!r} is unknown: choose from {', '.join(known)}")
        return str(value)

    return check


def proxies(value: Any) -> tuple[Network, ...] | int:
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


def scope(value: Any) -> Any:
    is_path = isinstance(value, str) and "." in value and all(step.isidentifier() for step in value.split("."))
    if value is not None and not callable(value) and not is_path:
        raise ValueError(f"{value!r} is neither a function of the request nor the dotted path of one: write 'shop.limits.tenant'")
    return value


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
    for item in value:
        if item not in HEADER_FAMILIES:
            raise ValueError(f"{item!r} is not a header family: choose from {', '.join(HEADER_FAMILIES)}")
    if {"ratelimit", "ratelimit-draft-7"} <= set(value):
        raise ValueError("'ratelimit' and 'ratelimit-draft-7' are two forms of the same headers: choose one of them")
    return tuple(value)


def retention(value: Any) -> Mapping[str, timedelta]:
    if not isinstance(value, Mapping):
        raise ValueError(f"{value!r} is not a dict of minute, hour and day")
    for resolution in value:
        if resolution not in RETENTION:
            raise ValueError(f"{resolution!r} is not a resolution: choose from {', '.join(RETENTION)}")
    return {**RETENTION, **{name: _kept(text) for name, text in value.items()}}


def _kept(text: Any) -> timedelta:
    milliseconds = parse_duration(text)
    if milliseconds > MOST_KEPT_MS:
        raise ValueError(f"{text!r} is too long: write at most 10000d")
    return timedelta(milliseconds=milliseconds)


JWT_INSTALL = "pip install 'ratewindow[jwt]'"
_JWT_EXAMPLE = '{"KEY": "...", "ALGORITHMS": ["HS256"]}'


def jwt(value: Any) -> Jwt | None:
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
