"""The breaker: while Redis does not answer, requests do not wait for it, and one log line says so.

Several failures open it, since one may be a hiccup (`ratewindow.evidence`). While it is open no request touches a socket;
housekeeping looks whether the server is back, and closes it. On a cluster every server has one of its own.
"""

import logging
import threading
import time
from collections.abc import Callable
from typing import NamedTuple

from redis.exceptions import ResponseError

from ratewindow.limiter.forks import renew_lock_after_fork
from ratewindow.limiter.redis import faults
from ratewindow.store.breaker_evidence import FAILURES_TO_OPEN, Failures, Partial, Trial

logger = logging.getLogger("ratewindow")

PROBE_S = 0.25
MOST_PAUSE_S = 1.5  # before a server is tried again that has failed when it was
MOST_RELAPSES = 8  # that are told apart


class State(NamedTuple):
    """How a breaker stands. `since_s` is a time of the clock on the wall, None when it never was open."""

    server: str  # "Redis", or the host and port of one server of a cluster
    open: bool
    since_s: float | None
    cause: str  # of the last failure, such as store:timeout


Listener = Callable[[State], None]
_listeners: list[Listener] = []


def listen(listener: Listener) -> None:
    """Call `listener` with the new state of every breaker that opens or closes, in the thread where it does."""
    _listeners.append(listener)


class Breaker:
    """Open in an outage, until `look` finds that `probe` raises nothing; then a trial, in which requests ask again.

    The log and who listens are told of an outage's end only once a request was answered. A server that fails its trial
    was away all the time: that is no news, and it is tried less and less often. `holds` says in words what holds while it
    is open.
    """

    def __init__(
        self,
        probe: Callable[[], object],
        holds: Callable[[], str],
        server: str = "Redis",
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._probe, self.holds, self._clock_s = probe, holds, clock_s
        self._lock = threading.Lock()
        renew_lock_after_fork(self)
        self.server = server
        self._begin_anew()

    def _begin_anew(self) -> None:
        self.open = False
        self.cause = ""  # of the last failure, such as store:timeout
        self.listens = False  # whether an answer is news
        self._failures, self._partial = Failures(), Partial()
        self._trial: Trial | None = None
        self._suspect = ""  # the fault that opened it, if it may be about some calls alone
        self._relapses = 0
        self._opened_at_s = self._try_at_s = 0.0
        self._since_s: float | None = None

    @property
    def state(self) -> State:
        with self._lock:
            away = self.open or (self._trial is not None and not self._trial.passed)
            return State(self.server, away, self._since_s, self.cause)

    def succeeded(self) -> None:
        if self.listens:
            self._answered()

    def _answered(self) -> None:
        with self._lock:
            if self.open:  # it was asked before
                return
            self.listens = not self._failures.add_answer()
            passed = self._go_on(Trial.add_answer)
        if passed:
            self._tell_end()

    def failed(self, error: BaseException) -> None:
        fault, answered, now_s = faults.of(error).name, isinstance(error, ResponseError), self._clock_s()
        with self._lock:
            if self.open:  # it was asked before
                self.cause = f"store:{fault}"
                return
            self.listens, trial = True, self._trial
            if self._partial.has(fault, now_s):
                if trial is not None:
                    trial.add_partial(now_s)
                return
            if trial is not None:
                trial.add_failure(now_s)
            outage = self._failures.add(answered, now_s)
            self.cause = f"store:{fault}"
            if not outage and (answered or trial is None or not trial.relapses):
                return
            self._suspect = fault if answered else ""
            news = self._open(trial, now_s)
        if news:
            told = f"{type(error).__name__}: {error}"
            logger.error("ratewindow: %s does not answer, %s until it does: %s", self.server, self.holds(), told)
            self._tell()

    def _open(self, trial: Trial | None, now_s: float) -> bool:
        """Whether that is news."""
        if trial is not None:
            self._relapses = min(trial.relapses + 1, MOST_RELAPSES)
        else:  # one that answers now and then will do so to a request that tries, too
            self._relapses = int(self._failures.in_a_row < FAILURES_TO_OPEN)
        self._try_at_s = now_s + (min(MOST_PAUSE_S, PROBE_S * 2**self._relapses) if self._relapses else 0.0)
        self.open, self._trial, self._failures = True, None, Failures()
        if trial is not None and not trial.passed:
            return False
        self._opened_at_s, self._since_s = now_s, time.time()
        return True

    def reset(self) -> None:
        """Forget what happened: the server is another one now."""
        with self._lock:
            self._begin_anew()

    def look(self) -> None:
        """Whether the server is back: what housekeeping does again and again."""
        if self._trial is not None:
            with self._lock:
                passed = self._go_on(lambda trial: trial.look(self._clock_s()))
            if passed:
                self._tell_end()
        if not self.open or self._clock_s() < self._try_at_s:
            return
        try:
            self._probe()
        except Exception:  # whatever is wrong, it is still wrong, and the log has said so
            self._suspect = ""
            return
        self._let_ask()

    def _let_ask(self) -> None:
        with self._lock:
            if not self.open:  # forgotten meanwhile
                return
            if self._suspect:
                self._partial.suspect(self._suspect, self._clock_s())
            self._trial, self.listens, self.open = Trial(self._relapses, self._clock_s()), True, False

    def _go_on(self, step: Callable[[Trial], object]) -> bool:
        """A step of the trial, if there is one; whether it has passed by it."""
        trial = self._trial
        if trial is None:
            return False
        before = trial.passed
        step(trial)
        if trial.is_over(self._clock_s()):
            self._trial = None
        else:
            self.listens = True
        if trial.passed and not before:
            self._since_s = time.time()
            return True
        return False

    def _tell_end(self) -> None:
        lasted_s = self._clock_s() - self._opened_at_s
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
