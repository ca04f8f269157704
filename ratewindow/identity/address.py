"""The client's address: REMOTE_ADDR, or what trusted proxies forward, cut to the prefix that counts as one client."""

import ipaddress
from functools import lru_cache
from typing import Any

from django.http import HttpRequest

from ratewindow import conf
from ratewindow.conf import networks as ipv4in6
from ratewindow.identity import proxy_warning
from ratewindow.limiter.problem import Problem

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
LONGEST_CACHED = 256  # characters of REMOTE_ADDR and X-Forwarded-For: long headers are sent to fill the memory
MOST_BEFORE = 8  # hops before the client that are looked at: a header can have thousands
LONGEST_ADDRESS = 100  # characters, with brackets, port and zone; a longer text is no address and is not cached


def client_address(request: HttpRequest) -> str:
    """The address that counts as one client: ``203.0.113.9``, ``2001:db8::/64``, or ``unknown`` without any.

    X-Forwarded-For is read only when proxies are trusted, from the right: the first address that is not
    a trusted proxy is the client, and whatever precedes it was chosen by the client.
    """
    meta = request.META  # shaped by speed: no call that can be spared
    peer = meta.get("REMOTE_ADDR") or ""
    forwarded = meta.get("HTTP_X_FORWARDED_FOR") or ""
    if forwarded and not conf.current().trusted_proxies:
        forwarded = ""
    client = (_client if len(peer) + len(forwarded) <= LONGEST_CACHED else _client.__wrapped__)(peer, forwarded)
    if proxy_warning.watching:
        proxy_warning.observe(meta, client, _before_client(peer, forwarded), client == client_of(peer, ""))
    return client


def _before_client(peer: str, forwarded: str) -> list[str]:
    """What X-Forwarded-For names to the left of the client, the nearest few, as clients."""
    settings = conf.current()
    _, before = _found(peer, forwarded, settings.trusted_proxies)
    return [_masked(parse_address(each), settings.ipv4_prefix, settings.ipv6_prefix) for each in before[-MOST_BEFORE:]]


def client_of(peer: str, forwarded: str) -> str:
    """`client_address` of a request that came from `peer` with this X-Forwarded-For, later."""
    if not conf.current().trusted_proxies:
        forwarded = ""
    return (_client if len(peer) + len(forwarded) <= LONGEST_CACHED else _client.__wrapped__)(peer, forwarded)


def ip(request: HttpRequest) -> str:
    """The key ``ip``."""
    return f"ip:{client_address(request)}"


def whole_address(request: HttpRequest) -> Address | None:
    """The client's address, not cut to a prefix; None without any."""
    trusted, meta = conf.current().trusted_proxies, request.META
    return _address(meta.get("REMOTE_ADDR") or "", (meta.get("HTTP_X_FORWARDED_FOR") or "") if trusted else "", trusted)


@lru_cache(maxsize=4096)
def _client(peer: str, forwarded: str) -> str:
    """`client_address` under the settings in force."""
    settings = conf.current()
    return _masked(_address(peer, forwarded, settings.trusted_proxies), settings.ipv4_prefix, settings.ipv6_prefix)


def masked_address(text: str) -> str:
    """An address cut to the prefix that counts as one client. Raises ValueError."""
    address = _valid_address(text, text.partition("/")[0])
    return _masked(address, conf.current().ipv4_prefix, conf.current().ipv6_prefix)


def is_one_client(text: str) -> bool:
    """Whether an address, or a network such as ``2001:db8::/64``, is exactly what counts as one client. Raises ValueError."""
    written, slash, length = text.partition("/")
    address = _valid_address(text, written)
    prefix = conf.current().ipv4_prefix if address.version == 4 else conf.current().ipv6_prefix
    return not slash or length == str(prefix)


def parse_address(text: str) -> Address | None:
    """An address without port, brackets and zone, an IPv4-mapped IPv6 address as IPv4; None if it is not an address."""
    return _parsed(text) if len(text) <= LONGEST_ADDRESS else None


def _valid_address(text: str, address: str) -> Address:
    parsed = parse_address(address)
    if parsed is None:
        raise Problem("{text!r} is not an address: write for example 203.0.113.9 or 2001:db8::1", text=text)
    return parsed


def _direct(peer: str) -> Address | None:
    return None if peer in proxy_warning.UNIX_SOCKETS else parse_address(peer)


def _address(peer: str, forwarded: str, trusted: Any) -> Address | None:
    return _found(peer, forwarded, trusted)[0]


def _found(peer: str, forwarded: str, trusted: Any) -> tuple[Address | None, list[str]]:
    """The client, and the entries of X-Forwarded-For to its left, which nobody vouches for."""
    direct = _direct(peer)
    if not forwarded:
        return direct, []
    hops = [part.strip() for part in forwarded.split(",")]
    if isinstance(trusted, int):
        # With n proxies the n-th address from the right was written by the outermost of them.
        candidate = parse_address(hops[-trusted]) if trusted <= len(hops) else None
        return candidate or direct, hops[:-trusted]
    # Only a proxy on this machine can write to a unix socket.
    if peer not in proxy_warning.UNIX_SOCKETS and not _trusted(direct, trusted):
        return direct, hops[-1:]
    while hops:
        address = parse_address(hops.pop())
        if address is None or not _trusted(address, trusted):
            return address or direct, hops
    return address, hops  # every hop is a trusted proxy: the left-most one began the request


def _trusted(address: Address | None, networks: Any) -> bool:
    return address is not None and any(address in network for network in networks)


@lru_cache(maxsize=4096)
def _parsed(text: str) -> Address | None:
    text = text.strip().strip('"')
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None
    if address.version == 6 and ipv4in6.is_ipv4(int(address)):
        return ipaddress.IPv4Address(ipv4in6.ipv4_of(int(address)))
    return address


@lru_cache(maxsize=4096)
def _masked(address: Address | None, ipv4_prefix: int, ipv6_prefix: int) -> str:
    if address is None:
        return "unknown"
    prefix = ipv4_prefix if address.version == 4 else ipv6_prefix
    if prefix == address.max_prefixlen:
        return str(address)
    return str(ipaddress.ip_network((address, prefix), strict=False))


def clear_cache() -> None:
    """Read the addresses of clients again: the settings have changed."""
    _client.cache_clear()
