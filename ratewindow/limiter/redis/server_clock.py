"""Whose clock decides: the server's, where scripts may read it, else this host's."""

import re
import time
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from redis.exceptions import ResponseError

from ratewindow.limiter.redis import faults


class _Timeable(Protocol):
    @property
    def at(self) -> Callable[[int], Any] | None: ...


Timed = TypeVar("Timed", bound=_Timeable)


class HostMs(int):
    """Milliseconds by this host's clock. It goes on as the server's does, so that keys may expire as ever."""


class NoScripts(ResponseError):
    """The server runs no Lua."""


class ServerClock:
    """Whether a server lets scripts read its clock. Some do not (ElastiCache Serverless): there each host's own decides.

    The first script that is refused tells. It has charged nothing, since it reads the clock before all else.
    """

    PROBE = ("EVAL", "redis.call('TIME') return {1}", 0)

    def __init__(self) -> None:
        self.is_hosts = self.is_known = False

    def timed(self, call: Timed) -> Timed:
        """The call itself or, where the host's clock decides, the same at its time."""
        return call.at(HostMs(time.time_ns() // 1_000_000)) if self.is_hosts and call.at else call

    def may_be_refused(self, error: object) -> bool:
        """Whether an answer may mean that; as long as it is not known, `PROBE` finds out."""
        return is_refusal(error) and (self.is_hosts or not self.is_known)

    def learn(self, answer: Any) -> None:
        """From what the server answers to `PROBE`, or the error."""
        is_refused = is_refusal(answer) and without_scripts(answer) is None
        if is_refused or not isinstance(answer, Exception):
            self.is_known, self.is_hosts = True, is_refused


def is_refusal(answer: object) -> bool:
    """Whether a server does not offer something, such as its clock to a script."""
    return isinstance(answer, ResponseError) and faults.of(answer).name == "unsupported"


_NO_EVAL = re.compile(r"unknown command\W*eval", re.IGNORECASE)


def without_scripts(error: object) -> NoScripts | None:
    """The error of a server without Lua in clear words; None where it is another."""
    if not isinstance(error, ResponseError) or not _NO_EVAL.search(str(error)):
        return None
    return NoScripts(
        f"this server runs no Lua scripts, and every decision is one: take a Redis or Valkey that does ({error!s:.100})"
    )
