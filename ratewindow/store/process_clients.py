"""This process's clients of the Redis that ``RATEWINDOW["REDIS"]`` names by a URL, or by a cache in ``CACHES``.

They have the limiter's own time limits, and are not those of the cache: a cache may wait for seconds, a decision may not.
"""

import re
from contextlib import suppress
from typing import Any

import redis.asyncio
from django.conf import settings as django_settings
from django.core.exceptions import ImproperlyConfigured
from django.utils.module_loading import import_string
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

from ratewindow import conf
from ratewindow.store import clients

PATIENT_S = 2.0  # the time limit of background work

# Options that the limiter sets, whatever an address or a cache says: see `_own_options`.
OWN = frozenset(
    "max_connections socket_timeout socket_connect_timeout timeout retry protocol decode_responses"
    " driver_info lib_name lib_version".split()
)

# Options that concern a cache only.
_OF_CACHES = frozenset("serializer pool_class parser_class client_class connection_class queue_class".split())

_REMEDY = 'Write for example RATEWINDOW = {"REDIS": "redis://localhost:6379/0"}.'
_SENTINEL_REMEDY = 'Write for example RATEWINDOW = {"REDIS": "redis+sentinel://one:26379,two:26379/mymaster/0"}.'


def in_memory() -> bool:
    """Whether this process counts in its own memory, without a server."""
    return conf.current().redis == conf.MEMORY


def address() -> tuple[str, dict[str, Any]]:
    """The URL of the server and the other options of its connections, such as a password.

    Raises ImproperlyConfigured, with the line to write, when ``RATEWINDOW["REDIS"]`` names no Redis.
    """
    name = conf.current().redis
    if name == conf.MEMORY:
        return name, {}
    if "://" in name:
        return _checked(name, {}, "RATEWINDOW['REDIS']"), {}
    if name not in django_settings.CACHES:
        raise ImproperlyConfigured(f"RATEWINDOW['REDIS'] is {name!r}, which is not an alias in CACHES. {_REMEDY}")
    cache = django_settings.CACHES[name]
    extra = {key: value for key, value in _cache_options(name, cache).items() if key not in OWN | _OF_CACHES}
    location = cache.get("LOCATION") or ""
    if isinstance(location, str):
        location = location.replace(";", ",").split(",")
    return _checked(next(iter(location), "").strip(), extra, f"the LOCATION of CACHES[{name!r}]"), extra


def _cache_options(name: str, cache: dict[str, Any]) -> dict[str, Any]:
    """The options of the connections of a cache on Redis."""
    options = dict(cache.get("OPTIONS") or {})
    backends = _classes(cache.get("BACKEND", ""))
    if "django.core.cache.backends.redis.RedisCache" in backends:
        return options
    if "django_redis.cache.RedisCache" not in backends:
        raise ImproperlyConfigured(f"CACHES[{name!r}] is {cache.get('BACKEND')}, which is not Redis. {_REMEDY}")
    if "SENTINELS" in options:
        raise ImproperlyConfigured(f"CACHES[{name!r}] goes through Sentinels, which the limiter asks itself. {_SENTINEL_REMEDY}")
    own = {each.lower(): options[each] for each in ("USERNAME", "PASSWORD") if each in options}
    return {**options.get("CONNECTION_POOL_KWARGS", {}), **own}


def _classes(path: str) -> set[str]:
    """The dotted paths of a class and of its bases."""
    paths = {path}
    with suppress(ImportError):
        paths |= {f"{base.__module__}.{base.__qualname__}" for base in import_string(path).__mro__}
    return paths


def _checked(url: str, extra: dict[str, Any], place: str) -> str:
    """The URL. ImproperlyConfigured, without the password in it, if it or an option is wrong."""
    remedy = _SENTINEL_REMEDY if "sentinel" in url.partition("://")[0] else _REMEDY
    try:
        server = clients.parse(url, OWN)
    except ValueError as error:
        raise ImproperlyConfigured(f"{place} is not an address of a Redis: {str(error).rstrip('.')}. {remedy}") from None
    try:
        clients.refuse_bad_options(server, extra)
    except (TypeError, ValueError, RedisError) as error:
        raise ImproperlyConfigured(f"{place} has a wrong option: {str(error).rstrip('.')}. {remedy}") from None
    return url


def shown() -> str:
    """The address without its password and options, which may be secret; else what is wrong with it."""
    try:
        url, _ = address()
    except ImproperlyConfigured as error:
        return str(error)
    return re.sub(r"(://[^:/@]*):[^/]*@", r"\1:***@", url.partition("?")[0])


_NAMELESS = {"driver_info": None} if hasattr(redis.connection, "DriverInfo") else {"lib_name": None, "lib_version": None}


def _own_options(timeout_s: float) -> dict[str, Any]:
    """Options that neither an address nor a cache can change; `OWN` lists them."""
    return {
        # A pool must not refuse; each thread uses one connection at a time.
        "max_connections": 2**31,
        "socket_timeout": timeout_s,
        "socket_connect_timeout": timeout_s,
        # A call whose answer was lost may have been executed: a retry would count it twice.
        "retry": Retry(NoBackoff(), 0),
        # RESP3 costs one more round trip for each new connection, for HELLO, and nothing here needs it.
        "protocol": 2,
        # A cache may be set to decode text; values here are bytes.
        "decode_responses": False,
        # CLIENT SETINFO with the library's name and version would cost two more round trips for each new connection.
        **_NAMELESS,
    }


# Replaced as a whole where the settings change: what a thread is making by the former ones goes to a dict that nobody asks.
_clients: dict[str, redis.Redis] = {}


def client() -> redis.Redis:
    """For decisions: it never retries, and waits for `TIMEOUT`. On a Cluster it waits longer; there the store sets the limit."""
    return _clients.get("decisions") or _make("decisions", _clients)


def patient_client() -> redis.Redis:
    """For background work, pages and commands, which may wait a little."""
    return _clients.get("patient") or _make("patient", _clients)


def _make(purpose: str, held: dict[str, redis.Redis]) -> redis.Redis:
    """Make a client by the settings, which are read after `held` was: whoever changes them replaces it."""
    server, extra = _server()
    # A cluster has one client for both, with the longer limit: background work may discover servers that a decision has no
    # time for. Decisions have a limit of their own, which holds for its connections, too.
    is_cluster = server.kind == "cluster"
    timeout_s = PATIENT_S if is_cluster or purpose == "patient" else conf.current().timeout_s
    made = clients.connect(server, extra, _own_options(timeout_s))
    if is_cluster:
        made = held.setdefault("decisions", made)
    return held.setdefault("patient" if is_cluster else purpose, made)


def _server() -> tuple[clients.Server, dict[str, Any]]:
    """The address. A wrong one raises ConnectionError, as a server that does not answer."""
    try:
        url, extra = address()
    except ImproperlyConfigured as error:
        raise redis.ConnectionError(str(error)) from None
    return clients.parse(url, OWN), extra


def masters(client: Any = None) -> list[redis.Redis]:
    """A client of each server that has keys of ours, with the time limit of `client`."""
    client = client or patient_client()
    if isinstance(client, redis.RedisCluster):
        return [client.get_redis_connection(node) for node in client.get_primaries()]
    return [client]


def async_client() -> redis.asyncio.Redis:
    """For decisions on the running event loop; the caller keeps one for each loop and closes it by `aclose`. Its store sets the
    time limit."""
    from redis.asyncio.retry import Retry as AsyncRetry

    server, extra = _server()
    return clients.aconnect(server, extra, _own_options(conf.current().timeout_s) | {"retry": AsyncRetry(NoBackoff(), 0)})


def close() -> None:
    """Close this process's connections; the next use opens new ones."""
    closed = list(_clients.values())
    drop()
    for each in closed:
        each.close()


def drop() -> None:
    """In a fork: the parent's connections are neither used nor closed."""
    global _clients
    _clients = {}
