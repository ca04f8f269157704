"""What went wrong with a decision, as one stable word, and which requests that concerns."""

import re
from enum import Enum
from typing import Any, NamedTuple, cast

from redis import exceptions
from redis.asyncio.sentinel import MasterNotFoundError as AsyncMasterNotFoundError
from redis.sentinel import MasterNotFoundError

from ratewindow.limiter.types import TooManyWindows


class Concerns(Enum):
    """Which requests a fault concerns, and so what is to be done about it."""

    SERVER = "server"  # every request: counted by the breaker
    CLIENT = "client"  # the state of one client alone
    OURSELVES = "ourselves"  # a mistake in a script or in how it was called


class Fault(NamedTuple):
    """A class of faults: `name` is what reports, logs and health say."""

    name: str
    concerns: Concerns


class BadReply(exceptions.RedisError):
    """An answer that cannot be one: not of the protocol, nil, too short. The rest of that connection cannot be trusted."""


class NoScripts(exceptions.ResponseError):
    """The server runs no Lua."""


class ServerAway(exceptions.ConnectionError):
    """One server of a cluster failed, or was not called since it is known to be away; the others are not concerned.

    `fault` is the class of what happened to it, and `server` its name.
    """

    def __init__(self, server: str, fault: str, error: BaseException | None = None) -> None:
        super().__init__(f"{server}: {type(error).__name__}: {error}" if error else f"{server} is known to be away: {fault}")
        self.server, self.fault = server, fault


class Watch:
    """What the store of a cluster asks before it calls one of the servers, and tells afterwards. This one watches nothing: every
    server is called. `store/breaker.py` has one that remembers which servers are away."""

    def away(self, server: str) -> str | None:
        """The class of the fault for which this server is not to be called; None: call it."""

    def failed(self, server: str, error: BaseException) -> None:
        """A call of this server has failed."""

    def succeeded(self, server: str) -> None:
        """A call of this server was answered."""


def numbers(reply: Any, parts: int) -> list[int]:
    """The reply itself; BadReply when it is not so many numbers."""
    if type(reply) is list and len(reply) == parts:
        try:
            sum(reply)
        except TypeError:
            pass
        else:
            return cast("list[int]", reply)
    raise BadReply(f"an answer that is not {parts} numbers: {reply!r:.100}")


# The first word of an error that Redis answers, as far as it has a meaning here. Older servers put the word of an
# error inside a script behind the script's place.
_BY_WORD = {
    "READONLY": "readonly",
    "LOADING": "loading",
    "BUSY": "busy",
    "OOM": "oom",
    "NOREPLICAS": "noreplicas",
    "MISCONF": "misconf",
    "MASTERDOWN": "masterdown",
    "NOAUTH": "auth",
    "WRONGPASS": "auth",
    "NOPERM": "noperm",
    "CLUSTERDOWN": "cluster",
    "TRYAGAIN": "cluster",
    "MOVED": "cluster",
    "ASK": "cluster",
    "WRONGTYPE": "wrongtype",
    "DENIED": "denied",
}
_WORD = re.compile(r"(?:^|[ :]-?)(" + "|".join(_BY_WORD) + r")\b")
_SENTENCES = {
    "max number of clients": "maxclients",
    "Too many connections": "pool",  # redis-py's words on asyncio before version 6
    "master is now a slave": "readonly",  # redis-py's words behind Sentinels
    "ACL failure": "noperm",
    "can't run this command": "noperm",
    "unknown command": "unsupported",
    "Unknown Redis command": "unsupported",  # inside a script
    "Unknown command called": "unsupported",  # the same, in Valkey 9
    "not allowed from script": "unsupported",
    "runs no Lua scripts": "unsupported",
    "DB index is out of range": "database",
    "SELECT is not allowed": "cluster",
    "don't hash to the same slot": "script",  # CROSSSLOT, whose word redis-py removes
}
# Only a script that the server has run, or tried to, is ours to mend. Any other error that is not known here is taken for one
# of the server, or of a proxy before it: every request would get it.
_OF_A_SCRIPT = re.compile(r"user_script:|\bf_[0-9a-f]{40}\b|[Ee]rror (running|compiling) script|from (the )?script\b")

# The first that fits; each before its base.
_BY_CLASS: tuple[tuple[type[BaseException], str], ...] = (
    (BadReply, "protocol"),
    (exceptions.InvalidResponse, "protocol"),
    (exceptions.TimeoutError, "timeout"),
    (exceptions.MaxConnectionsError, "pool"),
    (exceptions.BusyLoadingError, "loading"),
    (exceptions.AuthenticationError, "auth"),
    (exceptions.AuthenticationWrongNumberOfArgsError, "auth"),
    (exceptions.AuthorizationError, "noperm"),
    (exceptions.NoPermissionError, "noperm"),
    (MasterNotFoundError, "sentinel"),
    (AsyncMasterNotFoundError, "sentinel"),
    (exceptions.ReadOnlyError, "readonly"),
    (exceptions.OutOfMemoryError, "oom"),
    (exceptions.MasterDownError, "masterdown"),
    (exceptions.ClusterError, "cluster"),
    (exceptions.ClusterDownError, "cluster"),
    (exceptions.AskError, "cluster"),
    (exceptions.TryAgainError, "cluster"),
    (exceptions.RedisClusterException, "cluster"),
    (TimeoutError, "timeout"),
    (TooManyWindows, "toomany"),
)


_CONCERNS = {
    "wrongtype": Concerns.CLIENT,
    "script": Concerns.OURSELVES,
    "toomany": Concerns.OURSELVES,
    "internal": Concerns.OURSELVES,
}


def of(error: BaseException) -> Fault:
    """The class of an error that a store raised."""
    return named(_name(error))


def named(name: str) -> Fault:
    """The class that has this name."""
    return Fault(name, _CONCERNS.get(name, Concerns.SERVER))


def _name(error: BaseException) -> str:
    if isinstance(error, ServerAway):
        return error.fault
    for each, name in _BY_CLASS:
        if isinstance(error, each):
            return name
    said = str(error)
    for sentence, name in _SENTENCES.items():
        if sentence in said:
            return name
    if isinstance(error, exceptions.ResponseError):
        if found := _WORD.search(said):
            return _BY_WORD[found[1]]
        return "script" if _OF_A_SCRIPT.search(said) else "error"
    return "connection" if isinstance(error, exceptions.RedisError | OSError) else "internal"


def is_refusal(answer: object) -> bool:
    """Whether a server does not offer something, such as its clock to a script."""
    return isinstance(answer, exceptions.ResponseError) and of(answer).name == "unsupported"


_NO_EVAL = re.compile(r"unknown command\W*eval", re.IGNORECASE)


def without_scripts(error: object) -> NoScripts | None:
    """The error of a server without Lua in clear words; None where it is another."""
    if not isinstance(error, exceptions.ResponseError) or not _NO_EVAL.search(str(error)):
        return None
    return NoScripts(
        f"this server runs no Lua scripts, and every decision is one: take a Redis or Valkey that does ({error!s:.100})"
    )
