"""A request as an access log has it, and what is wrong with a line that has none."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from ratewindow.limiter.problem import Problem

NO_HEADERS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Entry:
    """One request of a log."""

    at_s: float  # seconds since the epoch
    client: str  # an address or a host name, as the log has it
    method: str
    target: str  # path and query, as they go on the wire
    status: int = 0  # of the answer; 0 if the log does not say
    user: str = ""  # login name; "" if nobody was signed in or the log does not say
    agent: str = ""
    host: str = ""
    headers: Mapping[str, str] = field(default_factory=lambda: NO_HEADERS)  # others that the log names, names in lower case


class Unreadable(Problem):
    """Why a line is no request."""


class LogError(Problem):
    """Why a log cannot be read, and what to do."""
