"""The client's address: REMOTE_ADDR, or what trusted proxies forward, cut to the prefix that counts as one client."""

import ipaddress
import logging
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from django.http import HttpRequest

from ratewindow import conf
from ratewindow.conf.in_words import page
from ratewindow.limiter.problem import Problem, translatable

logger = logging.getLogger("ratewindow")

SAMPLE = 100  # requests of each SAMPLE_S in which the common mistake behind a proxy is looked for; others cost one check
SAMPLE_S = 5.0
MOSTLY, DIFFERENT = 90, 10  # the percentage of a proxy's requests that name a client, and how many clients these are
UNIX_SOCKETS = frozenset(("", "localhost", "0.0.0.0"))  # what servers give as the peer address behind a Unix socket
FORWARDING = ("HTTP_X_FORWARDED_FOR", "HTTP_FORWARDED", "HTTP_X_REAL_IP")
SUPPOSED = "ratewindow.supposed"  # in META of a request that nobody has sent
UNTRUSTED = translatable(
    "all visitors share one address, {peer}, which looks like your proxy: its requests name other clients in {header}; write in "
    "settings.py: {line} ({page}, Addresses)"
)
Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_INTERNAL = [
    ipaddress.ip_network(network)
    for network in """10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16
    ::1/128 fc00::/7 fe80::/10""".split()
]
LONGEST_CACHED = 256  # characters of REMOTE_ADDR and X-Forwarded-For: long headers are sent to fill the memory
LONGEST_ADDRESS = 100  # characters, with brackets, port and zone; a longer text is no address and is not cached


def client_address(request: HttpRequest) -> str:
    """The address that counts as one client: ``203.0.113.9``, ``2001:db8::/64``, or ``unknown`` without any.

    X-Forwarded-For is read only when proxies are trusted, from the right: the first address that is not
    a trusted proxy is the client, and whatever precedes it was chosen by the client.
    """
    meta = request.META  # shaped by speed: no call that can be spared
    peer = meta.get("REMOTE_ADDR") or ""
    forwarded = meta.get("HTTP_X_FORWARDED_FOR") or ""
    client = (_client if len(peer) + len(forwarded) <= LONGEST_CACHED else _client.__wrapped__)(peer, forwarded)
    if watching:
        observe(meta)
    return client


def client_of(peer: str, forwarded: str) -> str:
    """`client_address` of a request that came from `peer` with this X-Forwarded-For, later."""
    return (_client if len(peer) + len(forwarded) <= LONGEST_CACHED else _client.__wrapped__)(peer, forwarded)


def ip(request: HttpRequest) -> str:
    """The key ``ip``."""
    return f"ip:{client_address(request)}"


def whole_address(request: HttpRequest) -> Address | None:
    """The client's address, not cut to a prefix; None without any."""
    meta, trusted = request.META, conf.current().trusted_proxies
    return _address(meta.get("REMOTE_ADDR") or "", meta.get("HTTP_X_FORWARDED_FOR") or "", trusted)


@lru_cache(maxsize=4096)
def _client(peer: str, forwarded: str) -> str:
    """`client_address` under the settings in force."""
    settings = conf.current()
    return _masked(_address(peer, forwarded, settings.trusted_proxies), settings.ipv4_prefix, settings.ipv6_prefix)


def masked_address(text: str) -> str:
    """An address, or the first one of a network, cut to the prefix that counts as one client. Raises ValueError."""
    address = parse_address(text.partition("/")[0])
    if address is None:
        raise Problem("{text!r} is not an address: write for example 203.0.113.9 or 2001:db8::1", text=text)
    return _masked(address, conf.current().ipv4_prefix, conf.current().ipv6_prefix)


def parse_address(text: str) -> Address | None:
    """An address without port, brackets and zone, an IPv4-mapped IPv6 address as IPv4; None if it is not an address."""
    return _parsed(text) if len(text) <= LONGEST_ADDRESS else None


def _address(peer: str, forwarded: str, trusted: Any) -> Address | None:
    direct = None if peer in UNIX_SOCKETS else parse_address(peer)
    if not forwarded or not trusted:
        return direct
    hops = [part.strip() for part in forwarded.split(",")]
    if isinstance(trusted, int):
        # With n proxies the n-th address from the right was written by the outermost of them.
        return (parse_address(hops[-trusted]) if trusted <= len(hops) else None) or direct
    # Only a proxy on this machine can write to a unix socket.
    if peer not in UNIX_SOCKETS and not _trusted(direct, trusted):
        return direct
    while hops:
        address = parse_address(hops.pop())
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
    if address.version == 6 and (inside := conf.ipv4_in(int(address))) is not None:
        return ipaddress.IPv4Address(inside)
    return address


@lru_cache(maxsize=4096)
def _masked(address: Address | None, ipv4_prefix: int, ipv6_prefix: int) -> str:
    if address is None:
        return "unknown"
    prefix = ipv4_prefix if address.version == 4 else ipv6_prefix
    return str(address if prefix == address.max_prefixlen else ipaddress.ip_network((address, prefix), strict=False))


def clear_cache() -> None:
    """Read the addresses of clients again: the settings have changed."""
    _client.cache_clear()


watching = True
# Of each request in the sample its peer, and the header in which a proxy names its client, or "", with the hash of its value.
_sample: list[tuple[str, str, int]] = []
warnings: list[Problem] = []  # the mistake, in a sentence, if this process has seen it


def observe(meta: Mapping[str, Any]) -> None:
    """Add one request to the sample; called only while `watching`."""
    global watching
    if meta.get(SUPPOSED):
        return
    header = next((name for name in FORWARDING if name in meta), "")
    peer = meta.get("REMOTE_ADDR") or ""
    if peer not in UNIX_SOCKETS and peer in meta.get(header, ""):  # the server has set REMOTE_ADDR from it
        header = ""
    _sample.append((peer, header, hash(meta.get(header))))
    if len(_sample) >= SAMPLE:  # threads may count past it
        watching = False


def judge_sample() -> None:
    """Warn if a proxy names its clients and is not trusted, so that all of them count as one; and begin a new sample."""
    global watching, _sample
    watching = True  # also if a thread has just found full the sample that the last call took
    if len(_sample) < DIFFERENT:
        return
    sample, _sample = _sample, []
    senders = Counter(peer for peer, header, _ in sample if header)
    for peer, count in senders.most_common(1):
        headers = {(header, value) for sender, header, value in sample if sender == peer and header}
        alone = sum(sender == peer for sender, _, _ in sample) if is_internal(peer) else len(sample)
        if len(headers) >= DIFFERENT and 100 * count >= MOSTLY * alone and not _is_trusted_peer(peer) and not warnings:
            _warn(max(headers)[0], peer)


def _is_trusted_peer(peer: str) -> bool:
    trusted = conf.current().trusted_proxies
    return bool(trusted) and (isinstance(trusted, int) or peer in UNIX_SOCKETS or _trusted(parse_address(peer), trusted))


def is_internal(text: str) -> bool:
    """Whether an address or a network, ``ip:10.0.0.1`` or ``10.0.0.0/24``, is of this machine or a private network: no visitor's
    of a public site. Also what servers say of a Unix socket."""
    text = text.removeprefix("ip:").partition("/")[0]
    address = parse_address(text)
    return text in UNIX_SOCKETS if address is None else any(address in network for network in _INTERNAL)


def _warn(header: str, peer: str) -> None:
    is_socket, name = peer in UNIX_SOCKETS, header.removeprefix("HTTP_").replace("_", "-").title()
    values = {"header": name, "page": page("developers/keys.md#addresses"), "peer": "a unix socket" if is_socket else peer}
    warning = Problem(UNTRUSTED, **values, line=f"RATEWINDOW['TRUSTED_PROXIES'] = {1 if is_socket else [peer]}")
    warnings.append(warning)
    logger.warning("ratewindow: %s", warning)
