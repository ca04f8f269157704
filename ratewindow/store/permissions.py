"""What our user may have to do on a Redis with access control: nothing that is not named here."""

import secrets
from collections.abc import Iterator, Mapping

import redis
from redis.exceptions import ResponseError

from ratewindow import conf
from ratewindow.store import state_keys

# Each command, with arguments that change nothing: `KEY` is text, so that commands for other types are refused
# for its type, which is only looked at once it is clear that the user may use them.
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
    # the rules' token, the switch, statistics, what processes tell of themselves
    "mget": (_KEY,),
    "hset": (_KEY, "a", "1"),
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
    "info": ("server",),
    "dbsize": (),
    "ping": (),
}
OF_A_CLUSTER = ("cluster|slots", "command")  # which redis-py asks when it begins


def acl_line(user: str, password: str, prefix: str) -> str:
    """The command that makes a user who may do all of it, and nothing else."""
    commands = " ".join(f"+{name}" for name in COMMANDS)
    return f"ACL SETUSER {user} reset on >{password} ~{prefix}:* {commands}"


def missing(master: "redis.Redis") -> list[str]:
    """What the user lacks on this server, as ACL SETUSER takes it. RedisError or OSError when it does not answer."""
    # Beside the states, and of no rule; gone in five seconds.
    scratch = f"{state_keys.probe()}:{secrets.token_hex(8)}"
    with master.client() as connection:  # one connection: MULTI is its own
        return list(dict.fromkeys(_missing(connection, scratch)))


def _missing(connection: "redis.Redis", scratch: str) -> Iterator[str]:
    asked = [(name, [word.replace(_KEY, scratch) for word in COMMANDS[name]]) for name in COMMANDS]
    asked.sort(key=lambda each: each[0] != "set")
    asked.append(("get", [state_keys.token()]))  # what is no client's state, either
    for name, arguments in asked:
        try:
            connection.execute_command(name.upper(), *arguments)
        except ResponseError as error:  # others mean that it was allowed to, but the type is another, or the slot elsewhere
            said = str(error).lower()
            if "no permissions" in said:
                yield f"+{name}" if f"'{name}" in said else f"~{conf.current().key_prefix}:*"
