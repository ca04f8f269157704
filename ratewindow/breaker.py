"""The breaker: while Redis does not answer, requests do not wait for it, and one log line says so.

Several failures in a row open it, since one may be a hiccup. While it is open no request touches a socket;
housekeeping looks whether the server is back, and closes it. On a cluster every server has one of its own.
"""

import logging
import threading
import time
import weakref
from collections.abc import Callable
from typing import NamedTuple

from ratewindow.limiter import faults
from ratewindow.limiter.forks import renew_lock_after_fork

logger = logging.getLogger("ratewindow")

FAILURES_TO_OPEN = 3
PROBE_S = 0.25


class State(NamedTuple):
    """How a breaker stands. `since_s` is a time of the clock on the wall, None when it never was open."""

    server: str  # "Redis", or the host and port of one server of a cluster
    open: bool
    since_s: float | None
    cause: str  # of the last failure, such as store:timeout


Listener = Callable[[State], None]
_listeners: list[Listener] = []
_all: "weakref.WeakSet[Breaker]" = weakref.WeakSet()


def listen(listener: Listener) -> None:
    """Call `listener` with the new state of every breaker that opens or closes, in the thread where it does."""
    _listeners.append(listener)


def any_open() -> bool:
    """Whether some server is known to be away, which the log has said."""
    return any(each.open for each in list(_all))


class Breaker:
    """Open after `FAILURES_TO_OPEN` failures in a row, until `look` finds that `probe` raises nothing.

    `holds` says in words what holds while it is open.
    """

    def __init__(self, probe: Callable[[], object], holds: Callable[[], str], server: str = "Redis") -> None:
        self._probe, self._holds = probe, holds
        self._lock = threading.Lock()
        renew_lock_after_fork(self)
        self._failures = 0
        self._opened_at_s = 0.0
        self._since_s: float | None = None
        self.server = server
        self.open = False
        self.cause = ""  # of the last failure, such as store:timeout
        _all.add(self)

    @property
    def state(self) -> State:
        with self._lock:
            return State(self.server, self.open, self._since_s, self.cause)

    def succeeded(self) -> None:
        if self._failures:
            self._failures = 0

    def failed(self, error: BaseException) -> None:
        with self._lock:
            self._failures += 1
            self.cause = f"store:{faults.of(error).name}"
            if self.open or self._failures < FAILURES_TO_OPEN:
                return
            self.open, self._opened_at_s, self._since_s = True, time.monotonic(), time.time()
        told = f"{type(error).__name__}: {error}"
        logger.error("ratewindow: %s does not answer, %s until it does: %s", self.server, self._holds(), told)
        self._tell()

    def reset(self) -> None:
        """Forget what happened: the server is another one now."""
        with self._lock:
            self.open, self._failures, self._since_s, self.cause = False, 0, None, ""

    def look(self) -> None:
        """Whether the server is back: what housekeeping does while the breaker is open."""
        if not self.open:
            return
        try:
            self._probe()
        except Exception:  # whatever is wrong, it is still wrong, and the log has said so
            return
        with self._lock:
            self.open, self._failures, self._since_s = False, 0, time.time()
        lasted_s = time.monotonic() - self._opened_at_s
        logger.warning("ratewindow: %s answers again after %.1f s, requests are counted", self.server, lasted_s)
        self._tell()

    def _tell(self) -> None:
        state = self.state
        for listener in _listeners:
            try:
                listener(state)
            except Exception:  # whoever listens must not fail the request that found out
                logger.exception("ratewindow: %r fails", listener)


class Breakers:
    """One breaker for each server of a cluster that has ever failed: a `faults.Watch`.

    `probe` is told a server's name and raises what is still wrong with it.
    """

    def __init__(self, probe: Callable[[str], object], holds: Callable[[], str]) -> None:
        self._probe, self._holds = probe, holds
        self._of: dict[str, Breaker] = {}

    def away(self, server: str) -> str | None:
        known = self._of.get(server)
        return known.cause.removeprefix("store:") if known is not None and known.open else None

    def failed(self, server: str, error: BaseException) -> None:
        known = self._of.get(server)
        if known is None:
            known = self._of.setdefault(server, Breaker(lambda: self._probe(server), self._holds, server))
        known.failed(error)

    def succeeded(self, server: str) -> None:
        known = self._of.get(server)
        if known is not None:
            known.succeeded()

    def look(self) -> None:
        for known in list(self._of.values()):
            known.look()

    def reset(self) -> None:
        self._of.clear()

    @property
    def states(self) -> list[State]:
        return [known.state for known in list(self._of.values())]
