"""Parsing the address of a Redis: one server, a Cluster, or the master that Sentinels name.

``redis://``, ``rediss://`` and ``unix://`` are redis-py's own. The others list several nodes:

``redis+cluster://[user:password@]host[:port][,host[:port]...][?option=...]``
    some nodes of the cluster, from which the others are discovered
``redis+sentinel://[user:password@]host[:port][,host[:port]...]/service[/db][?option=...]``
    the Sentinels, and the name under which they know the master; user and password are the master's,
    those of the Sentinels are the options ``sentinel_username`` and ``sentinel_password``

With ``rediss`` instead of ``redis`` all connections use TLS.
"""

import re
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from redis.connection import parse_url

PLAIN = ("redis://", "rediss://", "unix://")
CLUSTER = ("redis+cluster://", "rediss+cluster://")
SENTINEL = ("redis+sentinel://", "rediss+sentinel://")
_OF_CELERY = ("sentinel://", "sentinels://")  # kombu's, which takes the service from another setting
_PORTS = {"cluster": 6379, "sentinel": 26379}
_NODE = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[^\s:\[\]@]+)(?::(?P<port>\d{1,5}))?")
# These messages quote no part of the address, which may be a part of the password.
_SLASH = "its port is not a number, or its password has a / that is not written as %2F"
_SPACE = "it contains a space"
_NOBODY = "it names no server"
_SEVERAL = "it lists several servers: redis+cluster:// or redis+sentinel:// says what they are"
_NO_DATABASE = "what follows its host is not the number of a database"


@dataclass(frozen=True)
class Server:
    """A parsed address: one URL for redis-py, or several nodes and the options of connections."""

    kind: Literal["plain", "cluster", "sentinel"]
    url: str = ""
    nodes: tuple[tuple[str, int], ...] = ()
    service: str = ""
    options: dict[str, Any] = field(default_factory=dict)  # of connections to the nodes of a cluster, or to the master
    sentinel_options: dict[str, Any] = field(default_factory=dict)


def parse(url: str, without: frozenset[str] = frozenset()) -> Server:
    """Parse an address without the options named in `without`. ValueError says what is wrong with it."""
    if re.search(r"\s", re.sub(r"\s*,\s*", ",", url)):
        raise ValueError(_SPACE)
    scheme, separator, rest = url.partition("://")
    scheme += separator
    rest, _, query = rest.partition("?")
    options = [(name, value) for name, value in parse_qsl(query) if name.removeprefix("sentinel_") not in without]
    if scheme in PLAIN:
        plain = scheme + _with_query(rest, options)
        if scheme != "unix://":
            _check_host(plain)
        _check_database(parse_url(plain).get("db"))
        return Server("plain", plain)
    if scheme in _OF_CELERY:
        raise ValueError(f"{scheme} has no place for the name of the master's service: write redis+sentinel://")
    if scheme not in CLUSTER + SENTINEL:
        raise ValueError(f"its scheme is none of {', '.join(PLAIN + CLUSTER + SENTINEL)}")
    kind: Literal["cluster", "sentinel"] = "cluster" if scheme in CLUSTER else "sentinel"
    authority, _, path = rest.partition("/")
    secret, at, listed = authority.rpartition("@")
    nodes = _nodes(listed, _PORTS[kind])
    *service, db = [unquote(part) for part in path.strip("/").split("/")]
    if kind == "sentinel" and not service:
        service, db = [db], ""
    if kind == "sentinel" and not (len(service) == 1 and service[0]):
        raise ValueError(f"it names no service, as in {scheme}host:26379/mymaster/0")
    if kind == "cluster" and (service or db not in ("", "0")):
        raise ValueError("a Cluster has no databases: leave out what follows the last node")
    _check_database(db)
    theirs = [(name.removeprefix("sentinel_"), value) for name, value in options if name.startswith("sentinel_")]
    own = [(name, value) for name, value in options if not name.startswith("sentinel_")]
    both = [(name, value) for name, value in own if name.startswith("ssl_")]
    base = scheme.replace(f"+{kind}", "")
    return Server(
        kind,
        nodes=nodes,
        service="".join(service),
        options=_options(base, f"{secret}{at}node/{db}", own),
        sentinel_options=_options(base, "node", both + theirs),
    )


def of_sentinels(location: str, sentinels: list[tuple[str, int]]) -> str:
    """The address for django-redis's two settings: a location whose host is the service, and a list of Sentinels."""
    parts = urlsplit(location)
    secret = parts.netloc.rpartition("@")[0]
    nodes = ",".join(f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host, port in sentinels)
    path = f"{quote(parts.hostname or '')}/{parts.path.strip('/')}"
    options = [(name, value) for name, value in parse_qsl(parts.query) if name != "is_master"]
    return f"{parts.scheme}+sentinel://{secret}{'@' if secret else ''}{_with_query(f'{nodes}/{path}', options)}"


def shown(url: str) -> str:
    """The address without its password and options, which may be secret."""
    return re.sub(r"(://[^:/@]*):[^/]*@", r"\1:***@", url.partition("?")[0])


def _with_query(base: str, options: list[tuple[str, str]]) -> str:
    return f"{base}?{urlencode(options)}" if options else base


def _options(scheme: str, rest: str, options: list[tuple[str, str]]) -> dict[str, Any]:
    """The options that redis-py reads from an address, for a client that is not made from one."""
    found = dict(parse_url(scheme + _with_query(rest, options)))
    for name in ("host", "port", "connection_class"):
        found.pop(name, None)
    _check_database(found.get("db"))
    return found | ({"ssl": True} if scheme == "rediss://" else {})


def _nodes(listed: str, usual_port: int) -> tuple[tuple[str, int], ...]:
    nodes = []
    for each in listed.split(","):
        match = _NODE.fullmatch(each.strip())
        if match is None or int(match["port"] or usual_port) > 65535:
            raise ValueError(_SLASH if each.strip() else _NOBODY)
        nodes.append((match["host"].strip("[]"), int(match["port"] or usual_port)))
    return tuple(nodes)


def _check_host(url: str) -> None:
    """Reject what redis-py accepts: anything for a host, and for the number of a database."""
    parts = urlsplit(url)
    if "," in parts.netloc.rpartition("@")[2]:
        raise ValueError(_SEVERAL)
    try:
        _ = parts.port
    except ValueError:  # its text may hold a part of the password
        raise ValueError(_SLASH) from None
    if "@" in parts.path:
        raise ValueError(_SLASH)
    _check_database(parts.path.removeprefix("/").removesuffix("/"))


def _check_database(number: str | int | None) -> None:
    if number not in (None, "") and not re.fullmatch(r"[0-9]{1,9}", str(number)):
        raise ValueError(_NO_DATABASE)
