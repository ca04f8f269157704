"""The circuit breaker: while Redis does not answer, requests do not wait for it, and one log line says so.

Several failures open it, since one may be a hiccup. While it is open no request touches a socket; a
background thread probes the server, and starts a trial when it answers. On a cluster each server has a breaker of its own.
"""

import logging
import threading
import time
from collections.abc import Callable
from typing import NamedTuple

from redis.exceptions import ResponseError

from ratewindow.limiter.forks import renew_lock_after_fork
from ratewindow.limiter.redis import faults

logger = logging.getLogger("ratewindow")

FAILURES_TO_OPEN = 3  # in a row
LAST = 32  # calls that are remembered, beginning with the first one without an answer
PART = 8  # of them without an answer are an outage, too, even with answers in between
STALE_S = 10.0  # older outcomes say nothing about now
QUIET_S = 0.5  # a trial without a request passes after this time
HEALED = 8  # answers in a row, after which the next failures are a new outage
MOST_PROOF = 64
PROBE_S = 0.25
MOST_PAUSE_S = 1.5  # before the next trial of a server that failed its last one
MOST_RELAPSES = 8  # failed trials in a row that are counted
# An error reply that opened the breaker while a probe works is suspected to concern some calls only: a permission that the script
# of one rule needs, for example. It is no outage if it is met again so soon after the probe, and as long as it is met again.
SUSPECTED_S = 3.0
PARTIAL_S = 60.0

_ALL = (1 << LAST) - 1


class Failures:
    """Failures among the last calls. An error reply delays nobody, and if other calls work in between it concerns some rule
    and not the server: so error replies count in a row only. Calls without an answer also count by their share."""

    def __init__(self) -> None:
        self.in_a_row = 0
        self._recent, self._last_s = 0, float("-inf")

    def add(self, answered: bool, now_s: float) -> bool:
        """Count a failure, `answered` by an error reply; whether it makes an outage."""
        if now_s - self._last_s > STALE_S:
            self._recent = 0
        self._last_s = now_s
        self.in_a_row += 1
        self._recent = (self._recent << 1 | (not answered)) & _ALL
        return self.in_a_row >= FAILURES_TO_OPEN or self._recent.bit_count() >= PART

    def add_answer(self) -> bool:
        """Count an answer; whether no failure is remembered any more."""
        self.in_a_row = 0
        self._recent = self._recent << 1 & _ALL
        return not self._recent


class Trial:
    """The time after a probe was answered, in which requests call the server again. A server that failed `relapses` trials
    before has to answer more often to pass."""

    def __init__(self, relapses: int, now_s: float) -> None:
        self.relapses = relapses
        self.passed = False
        self._began_s, self._failed_s = now_s, float("-inf")
        self._answers = 0
        self._proof = min(MOST_PROOF, HEALED << (relapses - 1)) if relapses else 1

    def add_failure(self, now_s: float) -> None:
        self._failed_s, self._answers = now_s, 0

    def add_partial(self, now_s: float) -> None:
        """A failure of those that concern some calls only: it proves nothing, neither for nor against the server."""
        if not self.passed:
            self._failed_s = now_s

    def add_answer(self) -> None:
        self._answers += 1
        self.passed = self.passed or self._answers >= self._proof

    def look(self, now_s: float) -> None:
        """Without requests, some time without a failure is enough."""
        doubtful = self.relapses or self._failed_s >= self._began_s
        quiet_s = now_s - max(self._began_s, self._failed_s)
        self.passed = self.passed or quiet_s >= (STALE_S if doubtful else QUIET_S)

    def is_over(self, now_s: float) -> bool:
        """Whether failures from now on are a new outage."""
        enough = self._answers >= max(HEALED, self._proof)
        return self.passed and (enough or now_s - max(self._began_s, self._failed_s) >= STALE_S)


class State(NamedTuple):
    """The state of a breaker. `open` lasts until a trial has passed; `since_s` is in seconds since the epoch, None if it never
    was open."""

    server: str  # "Redis", or the host and port of one server of a cluster
    open: bool
    since_s: float | None
    cause: str  # of the last failure, such as store:timeout


# Called with the new state of each breaker that opens or closes, in the thread where it does.
listeners: list[Callable[[State], None]] = []


class Breaker:
    """Opens in an outage. When `probe` raises nothing any more, a trial begins, in which requests call the server again.

    Log and listeners learn of the end of an outage when the trial has passed. A failed trial belongs to the same outage: it is
    not logged, and the next one comes later. `holds` says what happens to requests while the breaker is open.
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
        self._clear()

    def _clear(self) -> None:
        self.open = False
        self.cause = ""  # of the last failure, such as store:timeout
        self.counts_answers = False  # False where nothing has failed, which costs a request one look
        self._failures = Failures()
        self._partial_until_s: dict[str, float] = {}  # by fault
        self._trial: Trial | None = None
        self._suspect = ""  # the fault that opened it, if the server may answer it to some calls only
        self._relapses = 0  # failed trials in a row
        self._opened_at_s = self._try_at_s = 0.0
        self._since_s: float | None = None

    @property
    def state(self) -> State:
        with self._lock:
            is_open = self.open or (self._trial is not None and not self._trial.passed)
            return State(self.server, is_open, self._since_s, self.cause)

    def succeeded(self) -> None:
        if not self.counts_answers:
            return
        with self._lock:
            if self.open:  # the call began before it opened
                return
            self.counts_answers = not self._failures.add_answer()
            passed = self._advance(Trial.add_answer)
        if passed:
            self._report_end()

    def failed(self, error: BaseException) -> None:
        fault, answered, now_s = faults.of(error).name, isinstance(error, ResponseError), self._clock_s()
        with self._lock:
            if self.open:  # the call began before it opened
                self.cause = f"store:{fault}"
                return
            self.counts_answers, trial = True, self._trial
            if now_s <= self._partial_until_s.get(fault, 0.0):
                self._partial_until_s[fault] = now_s + PARTIAL_S
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
            is_new = self._open(trial, now_s)
        if is_new:
            logger.error(
                "ratewindow: %s does not answer, %s until it does: %s",
                self.server,
                self.holds(),
                f"{type(error).__name__}: {error}",
            )
            self._notify()

    def _open(self, trial: Trial | None, now_s: float) -> bool:
        """Open; whether this is a new outage."""
        if trial is not None:
            self._relapses = min(trial.relapses + 1, MOST_RELAPSES)
        else:  # a server that answers now and then would pass a trial by chance
            self._relapses = int(self._failures.in_a_row < FAILURES_TO_OPEN)
        self._try_at_s = now_s + (min(MOST_PAUSE_S, PROBE_S * 2**self._relapses) if self._relapses else 0.0)
        self.open, self._trial, self._failures = True, None, Failures()
        if trial is not None and not trial.passed:
            return False
        self._opened_at_s, self._since_s = now_s, time.time()
        return True

    def reset(self) -> None:
        """Forget the past: the server is another one now."""
        with self._lock:
            self._clear()

    def is_watched(self) -> bool:
        """Whether `look` is to be called: the server is away, or on trial."""
        return self.open or self._trial is not None

    def look(self) -> None:
        """Probe the server if it is time; called by a background thread."""
        if self._trial is not None:
            with self._lock:
                passed = self._advance(lambda trial: trial.look(self._clock_s()))
            if passed:
                self._report_end()
        if not self.open or self._clock_s() < self._try_at_s:
            return
        try:
            self._probe()
        except Exception:  # logged when it opened
            self._suspect = ""
            return
        self._begin_trial()

    def _begin_trial(self) -> None:
        with self._lock:
            if not self.open:  # reset meanwhile
                return
            if self._suspect:
                self._partial_until_s[self._suspect] = self._clock_s() + SUSPECTED_S
            self._trial, self.counts_answers, self.open = Trial(self._relapses, self._clock_s()), True, False

    def _advance(self, step: Callable[[Trial], object]) -> bool:
        """Take a step of the trial, if there is one; whether it has passed by that."""
        trial = self._trial
        if trial is None:
            return False
        before = trial.passed
        step(trial)
        if trial.is_over(self._clock_s()):
            self._trial = None
        else:
            self.counts_answers = True
        if trial.passed and not before:
            self._since_s = time.time()
            return True
        return False

    def _report_end(self) -> None:
        lasted_s = self._clock_s() - self._opened_at_s
        logger.warning("ratewindow: %s answers again after %.1f s, requests are counted", self.server, lasted_s)
        self._notify()

    def _notify(self) -> None:
        state = self.state
        for listener in listeners:
            try:
                listener(state)
            except Exception:  # a listener must not fail the request in which the breaker opened
                logger.exception("ratewindow: %r fails", listener)


class Breakers(faults.Watch):
    """A breaker for each server of a cluster that has failed before.

    `probe` is called with the name of a server and raises what is wrong with it.
    """

    def __init__(self, probe: Callable[[str], object], holds: Callable[[], str]) -> None:
        self._probe, self._holds = probe, holds
        self._by_server: dict[str, Breaker] = {}

    def away(self, server: str) -> str | None:
        breaker = self._by_server.get(server)
        return breaker.cause.removeprefix("store:") if breaker is not None and breaker.open else None

    def failed(self, server: str, error: BaseException) -> None:
        breaker = self._by_server.get(server)
        if breaker is None:
            breaker = self._by_server.setdefault(server, Breaker(lambda: self._probe(server), self._holds, server))
        breaker.failed(error)

    def succeeded(self, server: str) -> None:
        breaker = self._by_server.get(server)
        if breaker is not None:
            breaker.succeeded()

    def are_watched(self) -> bool:
        return any(breaker.is_watched() for breaker in list(self._by_server.values()))

    def look(self) -> None:
        for breaker in list(self._by_server.values()):
            breaker.look()

    def reset(self) -> None:
        self._by_server.clear()

    @property
    def states(self) -> list[State]:
        return [breaker.state for breaker in list(self._by_server.values())]
