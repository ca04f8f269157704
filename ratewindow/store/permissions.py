"""The permissions that our user needs on a Redis with access control lists."""

import secrets
from collections.abc import Iterator, Mapping

import redis
from redis.exceptions import ResponseError

from ratewindow import conf
from ratewindow.store import state_keys

# Each command with arguments that change nothing: `KEY` is a string, so commands for other types fail by its type, which Redis
# checks after the permission.
_KEY = "KEY"
COMMANDS: Mapping[str, tuple[str, ...]] = {
    # decisions and refunds
    "evalsha": ("0" * 40, "0"),
    "eval": ("return 1", "0"),
    # what the scripts do
    "time": (),
    "get": (_KEY,),
    "set": (_KEY, "1", "PX", "5000"),
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
    "zrem": (_KEY, "a"),
    "zremrangebyscore": (_KEY, "0", "0"),
    "zscore": (_KEY, "a"),
    "zcard": (_KEY,),
    "multi": (),
    "exec": (),
    # reset, cleaning, health
    "unlink": (f"{_KEY}:none",),
    "scan": ("0", "COUNT", "1"),
    "type": (_KEY,),
    "pttl": (_KEY,),
    "memory|usage": (_KEY,),
    "info": ("server",),
    "dbsize": (),
    "ping": (),
}
OF_A_CLUSTER = ("cluster|slots", "command")  # which redis-py sends when it connects


def acl_line(user: str, password: str, prefix: str) -> str:
    """The command that creates a user with these permissions and no others."""
    commands = " ".join(f"+{name}" for name in COMMANDS)
    return f"ACL SETUSER {user} reset on >{password} ~{prefix}:* {commands}"


def missing(master: "redis.Redis") -> list[str]:
    """The permissions that the user lacks on this server, as ACL SETUSER takes them. RedisError or OSError if it is silent."""
    # Under the prefix of states, but of no rule; it expires in five seconds.
    scratch = f"{state_keys.probe()}:{secrets.token_hex(8)}"
    with master.client() as connection:  # one connection, since MULTI holds for a connection
        return list(dict.fromkeys(_missing(connection, scratch)))


def _missing(connection: "redis.Redis", scratch: str) -> Iterator[str]:
    calls = [(name, [word.replace(_KEY, scratch) for word in COMMANDS[name]]) for name in COMMANDS]
    calls.sort(key=lambda each: each[0] != "set")
    calls.append(("get", [state_keys.token()]))  # a key that is not a client's state
    for name, arguments in calls:
        try:
            connection.execute_command(name.upper().replace("|", " "), *arguments)
        except ResponseError as error:  # other errors mean that it is permitted: a wrong type, or a slot elsewhere
            message = str(error).lower()
            if "no permissions" in message:
                yield f"+{name}" if f"'{name.partition('|')[0]}" in message else f"~{conf.current().key_prefix}:*"
