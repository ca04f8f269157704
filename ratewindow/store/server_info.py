"""What a server is like: kind and version, memory, eviction policy, keys, latency, and the permissions that our user lacks."""

import secrets
import time
from collections.abc import Iterator, Mapping
from typing import Any

import redis
from django.utils.translation import gettext
from redis.exceptions import ResponseError

from ratewindow import conf
from ratewindow.limiter.redis.thread_deadline import limited
from ratewindow.store import process_clients, state_keys


def unasked(error: str) -> dict[str, Any]:
    """The facts about a server that does not answer or is not asked."""
    return {"address": process_clients.shown(), "reachable": False, "error": error}


def evicts(store: dict[str, Any]) -> bool:
    """Whether a full memory admits refused clients."""
    return bool(store.get("memory_max")) and store.get("eviction_policy") not in (None, "noeviction")


def ask(client: Any) -> dict[str, Any]:
    """One round trip, within the time limit of a decision; of a cluster one server speaks for all."""
    began_s = time.perf_counter()
    with limited(conf.current().timeout_s):
        masters = process_clients.masters(client)
        with masters[0].pipeline(transaction=False) as pipe:
            pipe.info()
            pipe.dbsize()
            info, keys = pipe.execute(raise_on_error=False)
    took_s = time.perf_counter() - began_s
    info = info if isinstance(info, dict) else {}  # hosted servers may refuse INFO
    is_valkey = info.get("server_name") == "valkey"  # its redis_version never changes
    facts = {
        "address": process_clients.shown(),
        "reachable": True,
        "error": "",
        "server": "Valkey" if is_valkey else "Redis",
        "version": info.get("valkey_version" if is_valkey else "redis_version"),
        "memory_used": info.get("used_memory"),
        "memory_max": info.get("maxmemory") or None,
        "eviction_policy": info.get("maxmemory_policy"),
        "keys": keys if isinstance(keys, int) else None,
        "latency_ms": round(took_s * 1000, 2),
    }
    return {**facts, "masters": len(masters)} if len(masters) > 1 else facts


def warnings(store: dict[str, Any]) -> list[str]:
    """Warnings about a server that works."""
    text = gettext("Redis evicts keys when its memory is full (%s), which admits refused clients: set noeviction.")
    return [text % store["eviction_policy"]] if evicts(store) else []


# Each command with arguments that change nothing. The first one makes `KEY` a string, so commands for other types fail by its
# type, which Redis checks after the permission.
_KEY = "KEY"
COMMANDS: Mapping[str, tuple[str, ...]] = {
    "set": (_KEY, "1", "PX", "5000"),
    # decisions and refunds
    "evalsha": ("0" * 40, "0"),
    "eval": ("return 1", "0"),
    # what the scripts do
    "time": (),
    "get": (_KEY,),
    "del": (f"{_KEY}:none",),
    "pexpire": (_KEY, "5000"),
    "setrange": (f"{_KEY}:none", "0", ""),
    "rpush": (_KEY, "1"),
    "llen": (_KEY,),
    "lindex": (_KEY, "0"),
    "lrange": (_KEY, "0", "0"),
    "lset": (_KEY, "0", "1"),
    "ltrim": (_KEY, "0", "0"),
    # the rules' token, the switch, statistics, process records
    "mget": (_KEY,),
    "hset": (_KEY, "a", "1"),
    "hlen": (_KEY,),
    "hmget": (_KEY, "a"),
    "hincrby": (_KEY, "a", "1"),
    "hgetall": (_KEY,),
    "expire": (_KEY, "5"),
    "zadd": (_KEY, "1", "a"),
    "zrange": (_KEY, "0", "0"),
    "zrevrange": (_KEY, "0", "0"),
    "zremrangebyscore": (_KEY, "0", "0"),
    "zscore": (_KEY, "a"),
    "multi": (),
    "exec": (),
    # reset, cleaning, health
    "unlink": (f"{_KEY}:none",),
    "scan": ("0", "COUNT", "1"),
    "type": (_KEY,),
    "pttl": (_KEY,),
    "info": ("server",),
    "dbsize": (),
    "ping": (),
}


def lacking(master: redis.Redis) -> list[str]:
    """The permissions that the user lacks on this server, as ACL SETUSER takes them. RedisError or OSError if it is silent."""
    # Under the prefix of states, but of no rule; it expires in five seconds.
    scratch = f"{state_keys.probe()}:{secrets.token_hex(8)}"
    with master.client() as connection:  # one connection, since MULTI holds for a connection
        return list(dict.fromkeys(_missing(connection, scratch)))


def _missing(connection: redis.Redis, scratch: str) -> Iterator[str]:
    calls = [(name, [word.replace(_KEY, scratch) for word in words]) for name, words in COMMANDS.items()]
    calls.append(("get", [state_keys.token()]))  # a key that is not a client's state
    for name, arguments in calls:
        try:
            connection.execute_command(name.upper(), *arguments)
        except ResponseError as error:  # other errors mean that it is permitted: a wrong type, or a slot elsewhere
            message = str(error).lower()
            if "no permissions" in message:
                yield f"+{name}" if f"'{name}" in message else f"~{conf.current().key_prefix}:*"
