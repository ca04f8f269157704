"""The client's address: REMOTE_ADDR, or what trusted proxies say of it, as much of it as is one client."""

import ipaddress
from functools import lru_cache
from typing import Any

from django.http import HttpRequest

from ratewindow import conf
from ratewindow.conf import networks as ipv4in6
from ratewindow.identity import proxy_warning

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
MOST_REMEMBERED = 256  # characters of what a request says of its way
LONGEST = 100  # characters of an address with brackets, port and scope; what is longer is not even remembered


def client_address(request: HttpRequest) -> str:
    """The address that counts as one client: ``203.0.113.9``, ``2001:db8::/64``, or ``unknown`` without any.

    X-Forwarded-For is read only when proxies are trusted, from the right: the first address that is not
    a trusted proxy is the client, and what stands left of it is whatever the client chose to send.
    """
    peer, forwarded = _told(request)
    # Long headers are what somebody sends to fill the memory.
    find = _client if len(peer) + len(forwarded) <= MOST_REMEMBERED else _client.__wrapped__
    client = find(peer, forwarded)
    if proxy_warning.watching:
        proxy_warning.see(request.META, client)
    return client


def whole_address(request: HttpRequest) -> Address | None:
    """The same address, all of it; None without any."""
    peer, forwarded = _told(request)
    return _walk(peer, forwarded, conf.current().trusted_proxies) if forwarded else _direct(peer)


def _told(request: HttpRequest) -> tuple[str, str]:
    """What the request says of its way: the peer, and who is forwarded, if that is to be believed."""
    meta = request.META
    forwarded = meta.get("HTTP_X_FORWARDED_FOR") if conf.current().trusted_proxies else ""
    return meta.get("REMOTE_ADDR") or "", forwarded or ""


@lru_cache(maxsize=4096)
def _client(peer: str, forwarded: str) -> str:
    """What counts as one client, under the settings in force."""
    settings = conf.current()
    address = _walk(peer, forwarded, settings.trusted_proxies) if forwarded else _direct(peer)
    return _masked(address, settings.ipv4_prefix, settings.ipv6_prefix)


def masked_address(text: str) -> str:
    """As much of an address as is one client; ValueError names what is no address."""
    address = parse_address(text.partition("/")[0])
    if address is None:
        raise ValueError(f"{text!r} is no address: write for example 203.0.113.9 or 2001:db8::1")
    return _masked(address, conf.current().ipv4_prefix, conf.current().ipv6_prefix)


def is_one_client(text: str) -> bool:
    """Whether an address, or a network as ``2001:db8::/64``, is as much as counts as one client, neither more nor less."""
    written, slash, length = text.partition("/")
    address = parse_address(written)
    if address is None:
        raise ValueError(f"{text!r} is no address: write for example 203.0.113.9 or 2001:db8::1")
    prefix = conf.current().ipv4_prefix if address.version == 4 else conf.current().ipv6_prefix
    return not slash or length == str(prefix)


def parse_address(text: str) -> Address | None:
    """An address without port, brackets and scope, an IPv4 address written as one of IPv6 as itself; None for junk."""
    return _parsed(text) if len(text) <= LONGEST else None


def _direct(peer: str) -> Address | None:
    return None if peer in proxy_warning.UNIX_SOCKETS else parse_address(peer)


def _walk(peer: str, forwarded: str, trusted: Any) -> Address | None:
    hops = [part.strip() for part in forwarded.split(",")]
    direct = _direct(peer)
    if isinstance(trusted, int):
        # With n proxies the n-th address from the right was written by the outermost of them.
        candidate = parse_address(hops[-trusted]) if trusted <= len(hops) else None
        return candidate or direct
    # Only a proxy on this machine can write to a unix socket.
    if peer not in proxy_warning.UNIX_SOCKETS and not _trusted(direct, trusted):
        return direct
    for hop in reversed(hops):
        address = parse_address(hop)
        if address is None or not _trusted(address, trusted):
            return address or direct
    return address  # every hop is a trusted proxy: the left-most one began the request


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


def forget() -> None:
    """Other settings may say that somebody else is the client."""
    _client.cache_clear()
