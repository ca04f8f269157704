"""What the report keeps of a refused request beside its client: network, route, user agent, and whether somebody was signed in.

Nothing here queries a database: whether the client was signed in is known if the request's user was looked at already.
"""

import ipaddress
import re
from contextlib import suppress
from functools import lru_cache
from typing import Any, NamedTuple

from django.conf import settings
from django.urls import ResolverMatch

from ratewindow import conf
from ratewindow.identity import kept, split
from ratewindow.identity.address import client_of, parse_address
from ratewindow.identity.request_attributes import METHODS
from ratewindow.identity.routes import resolved
from ratewindow.limiter.keys import MOST_REMEMBERED

MOST_AGENT = 200  # characters that are read
MOST_ROUTE = 200
LONGEST_PATH = 256  # characters of a path whose route is remembered
NO_ROUTE = "no route"  # of a request whose path leads to no view
_VARIES = frozenset("<([\\$*?|")  # what patterns have, and few paths


class About(NamedTuple):
    """A request in the report's words; all empty if it is not known."""

    client: str = ""  # that was refused without a key: blocked, or without what the key needs
    network: str = ""
    route: str = ""
    agent: str = ""
    signed_in: bool = False


class Facts(NamedTuple):
    """What a request has said, before anything is made of it."""

    peer: str
    forwarded: str
    agent: str
    method: str
    path: str
    urlconf: Any
    match: ResolverMatch | None
    user: Any  # None if nobody has looked


NOBODY = About()


def about(who: Facts | str) -> About:
    """What is known of a request, or of an identity that code names; an empty text is nobody."""
    if isinstance(who, str):
        return About(kept(who) if len(who) > MOST_REMEMBERED else who, network_in(who)) if who else NOBODY
    address = client_of(who.peer, who.forwarded)
    return About(f"ip:{address}", network_of(address), _route(who), family(who.agent), _is_signed_in(who.user))


def network_in(identity: str) -> str:
    """The network of the address that an identity has, or empty."""
    address = next((part[3:] for part in split(identity) if part.startswith("ip:")), "")
    return network_of(address) if address else ""


@lru_cache(maxsize=4096)
def network_of(address: str) -> str:
    """``ip:203.0.113.0/24``, or ``ip:2001:db8:1:2::/64``; the /48 where each /64 is one client. Empty without an address."""
    parsed = parse_address(address.partition("/")[0])
    if parsed is None:
        return ""
    length = 24 if parsed.version == 4 else 64 if conf.current().ipv6_prefix > 64 else 48
    return f"ip:{ipaddress.ip_network((parsed, length), strict=False)}"


def has_user(identity: str) -> bool:
    return any(part.startswith("user:") for part in split(identity))


def method_and_path(route: str) -> tuple[str, str]:
    """``("POST", "/login/")``; a path that varies, or is not known, is empty, and so is a method that is not known."""
    method, _, path = route.partition(" ")
    is_one = path.startswith("/") and len(path) < MOST_ROUTE and _VARIES.isdisjoint(path)
    return (method if method in METHODS else ""), (path if is_one else "")


def _route(facts: Facts) -> str:
    """``POST /login/``, or ``GET /shop/<int:pk>/``: method and pattern."""
    method = "GET" if facts.method == "HEAD" else facts.method
    return f"{method if method in METHODS else 'OTHER'} {_pattern(facts)}"


def _pattern(facts: Facts) -> str:
    if facts.match is not None:
        return _written(facts.match)
    urlconf = facts.urlconf or settings.ROOT_URLCONF
    if len(facts.path) > LONGEST_PATH or not isinstance(urlconf, str):
        return _written(resolved(facts.path, urlconf))
    return _pattern_of(facts.path, urlconf)


@lru_cache(maxsize=1024)
def _pattern_of(path: str, urlconf: str) -> str:
    return _written(resolved(path, urlconf))


def _written(match: ResolverMatch | None) -> str:
    return f"/{match.route.removeprefix('^')}"[:MOST_ROUTE] if match is not None else NO_ROUTE


def _is_signed_in(user: Any) -> bool:
    with suppress(Exception):  # the site's own class
        return user is not None and bool(user.is_authenticated)
    return False


_ROBOT = re.compile(r"[\w.-]*(?:bot|crawler|spider)[\w.-]*", re.IGNORECASE)
_BROWSERS = {  # in this order, since each claims to be those after it
    "Edg": "Edge",
    "OPR": "Opera",
    "Firefox": "Firefox",
    "Chrome": "Chrome",
    "Safari": "Safari",
}
_PRODUCT = re.compile(r"[\w.+-]{1,40}")


@lru_cache(maxsize=1024)
def family(agent: str) -> str:
    """``Firefox``, ``Googlebot``, ``curl``: a user agent without its version; ``none`` for an empty one, or ``other``."""
    if not agent.strip():
        return "none"
    if robot := _ROBOT.search(agent):
        return robot[0][:40]
    if agent.startswith("Mozilla/"):
        return next((name for token, name in _BROWSERS.items() if f"{token}/" in agent), "other")
    product = _PRODUCT.match(agent)
    return product[0] if product else "other"
