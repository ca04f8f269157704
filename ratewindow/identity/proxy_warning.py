"""Warnings of the common mistakes behind proxies, found in a sample of requests: all clients, or all of one proxy, count as one.

The sample is the first hundred requests that are counted by address, and a hundred more whenever the warnings are read
`AGAIN_S` after the last sample; every other request costs one check of `watching`.
"""

import ipaddress
import logging
import time
from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Any

from ratewindow import conf
from ratewindow.conf.docs import page
from ratewindow.limiter.problem import translatable

logger = logging.getLogger("ratewindow")

SAMPLE = 100  # requests
MOSTLY = 90  # of them
FEW = 20  # requests that show a proxy behind those that are trusted: fewer are chance
HALF = 0.45  # of those that X-Forwarded-For came with, and a margin
BROWSERS = 3  # different ones: health checks of a load balancer are rightly one client
MOST_NAMED = 5  # networks that are trusted already
AGAIN_S = 600.0
UNIX_SOCKETS = frozenset(("", "localhost", "0.0.0.0"))  # what servers give as the peer address behind a Unix socket
FORWARDING = ("HTTP_X_FORWARDED_FOR", "HTTP_FORWARDED", "HTTP_X_REAL_IP")
SUPPOSED = "ratewindow.supposed"  # in META of a request that nobody has sent

watching = True


class _Sample:
    """What the requests of one sample have in common."""

    def __init__(self) -> None:
        self.seen = self.forwarded = 0
        self.peer = self.header = self.server = ""
        self.clients = Counter[str]()
        self.carrying = Counter[str]()  # the requests of each client that have X-Forwarded-For
        self.before = defaultdict[str, Counter[tuple[str, ...]]](Counter)  # what is to the left of each client there
        self.direct: set[str] = set()  # clients on the internet that came without a trusted proxy
        self.agents: set[int] = set()


_sample = _Sample()
_warnings: list[str] = []
_logged: dict[str, object] = {}
_concluded_at_s = 0.0


def address_warnings() -> list[str]:
    """The mistakes that this process has seen in the addresses of clients, in sentences; begins a new sample when it is due."""
    global watching, _sample
    if not watching and time.monotonic() - _concluded_at_s >= AGAIN_S:
        _sample, watching = _Sample(), True
    return list(_warnings)


def is_forwarded_unread(meta: Mapping[str, Any]) -> bool:
    """Whether a proxy has forwarded this request, and no proxy is trusted: all clients behind it have its address."""
    return not conf.current().trusted_proxies and bool(_forwarding(meta))


def _forwarding(meta: Mapping[str, Any]) -> str:
    """The header in which a proxy names the client; empty if there is none, or the server has read it."""
    header = next((each for each in FORWARDING if each in meta), "")
    peer = meta.get("REMOTE_ADDR") or ""
    # A server that has set REMOTE_ADDR from the header itself needs no trusted proxy.
    return header if header and (peer in UNIX_SOCKETS or peer not in meta[header]) else ""


def observe(meta: Mapping[str, Any], client: str, before: list[str], direct: bool) -> None:
    """Add one request, counted for the address `client`, to the sample; called only while `watching`. `before` is what
    X-Forwarded-For has to its left, and `direct` says that it is the peer itself."""
    if meta.get(SUPPOSED):
        return
    sample = _sample
    if meta.get("SERVER_NAME") != "testserver":  # Django's test client always has one address
        _note(sample, meta, client)
        if meta.get("HTTP_X_FORWARDED_FOR"):
            _note_before(sample, client, before, direct)
    sample.seen += 1
    if sample.seen >= SAMPLE:
        _conclude(sample)


def _note(sample: _Sample, meta: Mapping[str, Any], client: str) -> None:
    if header := _forwarding(meta):
        sample.forwarded, sample.header = sample.forwarded + 1, header
        sample.peer = "" if (peer := meta.get("REMOTE_ADDR") or "") in UNIX_SOCKETS else peer
    sample.server = str(meta.get("SERVER_SOFTWARE") or "")
    sample.clients[client] += 1
    if len(sample.agents) < BROWSERS:
        sample.agents.add(hash(meta.get("HTTP_USER_AGENT")))


def _note_before(sample: _Sample, client: str, before: list[str], direct: bool) -> None:
    sample.carrying[client] += 1
    public = not _is_private(client)
    if direct and public:
        sample.direct.add(client)
    # A private address before a public one is behind a company's proxy, which is none of the site's.
    if named := tuple(each for each in before if each != client and not (public and _is_private(each))):
        sample.before[client][named] += 1


def _conclude(sample: _Sample) -> None:
    global watching, _warnings, _concluded_at_s
    watching, _concluded_at_s = False, time.monotonic()
    _warnings = [warning for warning in (_of(sample),) if warning]
    for warning in _warnings:
        this = object()
        if _logged.setdefault(warning[:20], this) is this:  # one log line for each mistake
            logger.warning("ratewindow: %s", warning)


def _of(sample: _Sample) -> str:
    if len(sample.agents) < BROWSERS:
        return ""
    values = {"requests": sample.seen, "page": page("developers/keys.md")}
    if sample.forwarded >= MOSTLY and not conf.current().trusted_proxies:
        header = sample.header.removeprefix("HTTP_").replace("_", "-").title()
        message = _FORWARDED if sample.peer else _FORWARDED_AT_SOCKET
        return message.format(**values, count=sample.forwarded, header=header, peer=sample.peer)
    proxy, count = _unnamed_proxy(sample)
    if proxy:
        return _BEHIND.format(**values, count=count, client=proxy, line=_line_with(proxy))
    if len(sample.clients) == 1 and _is_private(client := next(iter(sample.clients))):
        at_socket, waitress = client == "unknown", sample.server.startswith("waitress")
        return _ONE_CLIENT[at_socket, waitress].format(**values, client=client)
    return ""


def _unnamed_proxy(sample: _Sample) -> tuple[str, int]:
    """The client that seems to be a proxy, since several addresses stand before it, and how many requests show that."""
    # Without a trusted proxy a client writes the header itself; only where nobody else comes may it be one.
    ignored = sample.direct if len(sample.clients) > 1 else set()
    # Another thread may still add to the sample, so lists are made of it.
    before = {client: named for client, named in list(sample.before.items()) if client not in ignored}
    carrying = sum(count for client, count in list(sample.carrying.items()) if client not in ignored)
    varied = [client for client in before if len(before[client]) > 1]
    # A proxy may have edges of one visitor each; one client that forges must not be counted with what others send.
    count = sum(before[client].total() for client in (before if len(varied) > 1 else varied))
    if count < max(FEW, HALF * carrying):
        return "", 0
    return max(varied, key=lambda client: len(before[client])), count


def _line_with(client: str) -> str:
    """The setting, with one proxy more."""
    trusted: Any = conf.current().trusted_proxies
    if isinstance(trusted, int):
        return f'"TRUSTED_PROXIES": {trusted + 1}'
    named = ", ".join(f'"{each}"' for each in (*trusted, client)) if len(trusted) <= MOST_NAMED else f'..., "{client}"'
    return f'"TRUSTED_PROXIES": [{named}]'


_FORWARDED = translatable(
    "{count} of {requests} requests came with {header}, and no proxy is trusted: all clients behind {peer} count as one; name "
    "your proxies, or how many there are, in RATEWINDOW['TRUSTED_PROXIES'] ({page}, Addresses)"
)
_FORWARDED_AT_SOCKET = translatable(
    "{count} of {requests} requests came with {header}, and no proxy is trusted: all clients behind this server's unix socket "
    "count as one; set RATEWINDOW['TRUSTED_PROXIES'] to the number of your proxies, since one at a unix socket has no address "
    "({page}, Addresses)"
)
_BEHIND = translatable(
    "{count} of {requests} requests have another address to the left of their client's in X-Forwarded-For. If {client} is a "
    "proxy or CDN, all its visitors count as one: write {line} in RATEWINDOW, with all its addresses ({page}, Addresses)"
)
_ONE_CLIENT = {  # by whether it came by a unix socket, and whether the server is waitress
    (False, False): translatable(
        "All of {requests} requests, of several browsers, count for {client}: let the proxy send X-Forwarded-For, and name your "
        "proxies, or how many there are, in RATEWINDOW['TRUSTED_PROXIES'] ({page}, Addresses)"
    ),
    (True, False): translatable(
        "All of {requests} requests, of several browsers, count for {client}: let the proxy send X-Forwarded-For, and set "
        "RATEWINDOW['TRUSTED_PROXIES'] to the number of your proxies, since one at a unix socket has no address ({page}, "
        "Addresses)"
    ),
    (False, True): translatable(
        "All of {requests} requests, of several browsers, count for {client}: waitress removes X-Forwarded-For unless it is "
        "started with --no-clear-untrusted-proxy-headers; let it pass, and name your proxies, or how many there are, in "
        "RATEWINDOW['TRUSTED_PROXIES'] ({page}, Addresses)"
    ),
    (True, True): translatable(
        "All of {requests} requests, of several browsers, count for {client}: waitress removes X-Forwarded-For unless it is "
        "started with --no-clear-untrusted-proxy-headers; let it pass, and set RATEWINDOW['TRUSTED_PROXIES'] to the number of "
        "your proxies, since one at a unix socket has no address ({page}, Addresses)"
    ),
}
MESSAGES = (_FORWARDED, _FORWARDED_AT_SOCKET, _BEHIND, *_ONE_CLIENT.values())
"""What the warnings are made of, for those who translate them."""


def _is_private(client: str) -> bool:
    """Whether no client on the internet has this address."""
    if client == "unknown":
        return True
    network = ipaddress.ip_network(client, strict=False)
    return any(network.version == each.version and network.subnet_of(each) for each in _PRIVATE)  # type: ignore[arg-type]


_NETWORKS = "10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 ::/64 fc00::/7 fe80::/10"
_PRIVATE = [ipaddress.ip_network(each) for each in _NETWORKS.split()]
