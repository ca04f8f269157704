"""This process's clients of Redis, with the limiter's own time limits.

They are not those of the cache even if the address is from ``CACHES``: a cache may wait for seconds, a decision may not.
"""

from typing import Any

import redis
import redis.asyncio
from django.core.exceptions import ImproperlyConfigured
from redis.backoff import NoBackoff
from redis.retry import Retry

from ratewindow import conf
from ratewindow.store import address, clients
from ratewindow.store import url as redis_url

PATIENT_S = 2.0  # the time limit of background work


def in_memory() -> bool:
    """Whether this process counts in its own memory, without a server."""
    return conf.current().redis == address.MEMORY


_NAMELESS = {"driver_info": None} if hasattr(redis.connection, "DriverInfo") else {"lib_name": None, "lib_version": None}


def _own_options(timeout_s: float) -> dict[str, Any]:
    """Options that neither an address nor a cache can change; `address.OWN` lists them."""
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
    """For decisions: it waits for `TIMEOUT` and never retries."""
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


def _server() -> tuple[redis_url.Server, dict[str, Any]]:
    """The address. A wrong one raises ConnectionError, as a server that does not answer."""
    try:
        url, extra = address.address()
    except ImproperlyConfigured as error:
        raise redis.ConnectionError(str(error)) from None
    return redis_url.parse(url, address.OWN), extra


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
    made = clients.aconnect(server, extra, _own_options(conf.current().timeout_s) | {"retry": AsyncRetry(NoBackoff(), 0)})
    if server.kind != "cluster":
        try:
            made.connection_pool.make_connection()  # async connections take fewer options
        except (TypeError, ValueError, AttributeError) as error:
            raise redis.ConnectionError(f"an option of RATEWINDOW['REDIS'] is not for asyncio: {error}") from None
    return made


aclose = clients.aclose


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
