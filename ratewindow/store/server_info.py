"""Facts about the server: kind and version, memory, eviction policy, keys, clock, and latency."""

import socket
import time
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.utils.formats import number_format
from django.utils.translation import gettext

from ratewindow import conf
from ratewindow.limiter.redis.thread_deadline import limited
from ratewindow.store import address as redis_address
from ratewindow.store import process_clients, url

FULL = 0.9  # of the memory that it may use
MOST_AHEAD_S = 1.0  # how much the server's clock may differ from this host's


def address() -> str:
    """The address, without its password."""
    try:
        return url.shown(redis_address.address()[0])
    except ImproperlyConfigured as error:
        return str(error)


def unasked(error: str) -> dict[str, Any]:
    """The facts about a server that does not answer or is not asked."""
    return {"address": address(), "reachable": False, "error": error}


def ask(client: Any) -> dict[str, Any]:
    """One round trip to each server, and to no more servers after twice the time limit of a decision."""
    began_s = time.perf_counter()
    servers = []
    with limited(conf.current().timeout_s):
        masters = process_clients.masters(client)
    for master in masters:
        with limited(conf.current().timeout_s):
            servers.append(_one(master))
        if time.perf_counter() - began_s > 2 * conf.current().timeout_s:
            break
    first = servers[0]
    facts = {
        "address": address(),
        "reachable": True,
        "error": "",
        "server": first["server"],
        "version": first["version"],
        "memory_used": _sum(servers, "memory_used"),
        "memory_max": _sum(servers, "memory_max"),
        "eviction_policy": first["eviction_policy"],
        "keys": _sum(servers, "keys"),
        "latency_ms": max(each["latency_ms"] for each in servers),
        "clock_ahead_s": max((each.get("clock_ahead_s") or 0.0 for each in servers), key=abs),
    }
    return {**facts, "masters": len(servers)} if len(servers) > 1 else facts


def warnings(store: dict[str, Any]) -> list[str]:
    """Warnings about a server that works."""
    found = []
    policy, used, most = store.get("eviction_policy"), store.get("memory_used"), store.get("memory_max")
    if most and policy and policy != "noeviction":
        text = gettext("Redis evicts keys when its memory is full (%s), which admits refused clients: set noeviction.")
        found.append(text % policy)
    if used and most and used > FULL * most:
        found.append(gettext("Redis uses %d %% of the memory that it may: raise maxmemory.") % (used * 100 // most))
    ahead_s = store.get("clock_ahead_s") or 0.0
    if abs(ahead_s) > MOST_AHEAD_S:
        ahead = gettext("The clock of Redis is %(seconds)s s ahead of that of %(host)s: set both by NTP.")
        behind = gettext("The clock of Redis is %(seconds)s s behind that of %(host)s: set both by NTP.")
        values = {"seconds": number_format(abs(ahead_s), 1), "host": socket.gethostname()}
        found.append((ahead if ahead_s > 0 else behind) % values)
    return found


def _one(master: Any) -> dict[str, Any]:
    began_s = time.perf_counter()
    with master.pipeline(transaction=False) as pipe:
        pipe.info()
        pipe.dbsize()
        pipe.time()
        before_s = time.time()
        info, keys, server_time = pipe.execute(raise_on_error=False)
        after_s = time.time()
    latency_ms = round((time.perf_counter() - began_s) * 1000, 2)
    info = info if isinstance(info, dict) else {}  # hosted servers may refuse INFO
    is_valkey = info.get("server_name") == "valkey"  # its redis_version never changes
    version, policy = info.get("valkey_version" if is_valkey else "redis_version"), info.get("maxmemory_policy")
    return {
        "server": "Valkey" if is_valkey else "Redis",
        "version": None if version is None else str(version),
        "memory_used": _number(info.get("used_memory")),
        "memory_max": _number(info.get("maxmemory")) or None,
        "eviction_policy": None if policy is None else str(policy),
        "keys": keys if isinstance(keys, int) else None,
        "latency_ms": latency_ms,
        "clock_ahead_s": _ahead_s(server_time, before_s, after_s),
    }


def _ahead_s(server_time: Any, before_s: float, after_s: float) -> float | None:
    """How far the server's clock is ahead of this host's, which was read before and after; 0 if they may agree."""
    if not isinstance(server_time, tuple):
        return None
    seconds, microseconds = server_time
    server_s = seconds + microseconds / 1_000_000
    return round(float(server_s - min(max(server_s, before_s), after_s)), 3)


def _number(value: Any) -> int | None:
    """A number in INFO; None for anything else, which a proxy may answer."""
    return value if isinstance(value, int) else None


def _sum(servers: list[dict[str, Any]], name: str) -> int | None:
    known = [each[name] for each in servers if each[name] is not None]
    return sum(known) if known else None
