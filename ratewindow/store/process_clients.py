"""The way to Redis: clients of the server that the setting means, with the limiter's own time limits.

The limiter owns its clients even where the address comes from ``CACHES``: a cache may wait for seconds,
a decision may not, and pools shared by address alone would lose one of the two settings.
"""

import threading
from typing import Any

import redis
import redis.asyncio
from django.core.exceptions import ImproperlyConfigured
from redis.backoff import NoBackoff
from redis.retry import Retry

from ratewindow import conf
from ratewindow.store import address, clients
from ratewindow.store import url as redis_url

PATIENT_S = 2.0  # for background work, which may wait, but not for ever


def in_memory() -> bool:
    """Whether this process counts for itself, without a server."""
    return conf.current().redis == address.MEMORY


_NAMELESS = {"driver_info": None} if hasattr(redis.connection, "DriverInfo") else {"lib_name": None, "lib_version": None}


def _own_options(timeout_s: float) -> dict[str, Any]:
    """What an address or a cache cannot change: `redis_address.OWN` names them all."""
    return {
        # A pool must not refuse: at most one connection for each thread is in use at a time.
        "max_connections": 2**31,
        "socket_timeout": timeout_s,
        "socket_connect_timeout": timeout_s,
        # A call whose answer was lost may have been executed: repeating it would count it twice.
        "retry": Retry(NoBackoff(), 0),
        # One round trip less for each new connection than RESP3 with its HELLO, and nothing here needs RESP3.
        "protocol": 2,
        # A cache may ask for text; what is kept here is bytes.
        "decode_responses": False,
        # Two round trips less for each new connection than telling the server the library's name and version.
        **_NAMELESS,
    }


_lock = threading.Lock()
_clients: dict[str, redis.Redis] = {}


def client() -> redis.Redis:
    """For decisions: it waits `TIMEOUT`, and never retries."""
    return _clients.get("decisions") or _make("decisions", conf.current().timeout_s)


def patient_client() -> redis.Redis:
    """For background work, pages and commands, which may wait a little."""
    return _clients.get("patient") or _make("patient", PATIENT_S)


def _make(purpose: str, timeout_s: float) -> redis.Redis:
    server, extra = _server()
    # That of a cluster is patient, and one for all: background work may learn what a decision has no time for. Who
    # decides has a limit that holds for its connections, too.
    is_cluster = server.kind == "cluster"
    made = clients.connect(server, extra, _own_options(PATIENT_S if is_cluster else timeout_s))
    with _lock:
        for each in ("decisions", "patient") if is_cluster else (purpose,):
            _clients.setdefault(each, made)
        return _clients[purpose]


def _server() -> tuple[redis_url.Server, dict[str, Any]]:
    """The address for a site that runs: a server that is not configured is one that does not answer."""
    try:
        url, extra = address.address()
    except ImproperlyConfigured as error:
        raise redis.ConnectionError(str(error)) from None
    return redis_url.parse(url, address.OWN), extra


def masters(client: Any = None) -> list[redis.Redis]:
    """A client of every server that has keys of ours, as patient as `client` is, or else patient."""
    client = client or patient_client()
    if isinstance(client, redis.RedisCluster):
        return [client.get_redis_connection(node) for node in client.get_primaries()]
    return [client]


def async_client() -> redis.asyncio.Redis:
    """For decisions on the running event loop; the caller keeps one for each loop and closes it by `aclose`. It waits
    without limit: its store has one."""
    from redis.asyncio.retry import Retry as AsyncRetry

    server, extra = _server()
    made = clients.aconnect(server, extra, _own_options(conf.current().timeout_s) | {"retry": AsyncRetry(NoBackoff(), 0)})
    if server.kind != "cluster":
        try:
            made.connection_pool.make_connection()  # its connections do not take all that those of threads do
        except (TypeError, ValueError, AttributeError) as error:
            raise redis.ConnectionError(f"an option of RATEWINDOW['REDIS'] is not for asyncio: {error}") from None
    return made


aclose = clients.aclose


def close() -> None:
    """Close what this process holds open; the next use opens it anew."""
    with _lock:
        for each in _clients.values():
            each.close()
        _clients.clear()


def drop() -> None:
    """In a fork: the parent's connections are neither used nor closed."""
    global _lock
    _lock = threading.Lock()
    _clients.clear()
