"""The breaker: while Redis does not answer, requests do not wait for it, and one log line says so.

Several failures in a row open it, since one may be a hiccup. While it is open no request touches a socket;
housekeeping looks whether the server is back, and closes it.
"""

import logging
import threading
import time
from collections.abc import Callable

from ratewindow import housekeeping
from ratewindow.limiter import faults

logger = logging.getLogger("ratewindow")

FAILURES_TO_OPEN = 3
PROBE_S = 0.25


class Breaker:
    """Open after `FAILURES_TO_OPEN` failures in a row, until `probe` returns without an exception."""

    def __init__(self, probe: Callable[[], None], holds: Callable[[], str]) -> None:
        self._probe, self._holds = probe, holds  # what holds while it is open, in words
        self._lock = threading.Lock()
        self._failures = 0
        self._opened_at_s = 0.0
        self.open = False
        self.cause = ""  # of the last failure, such as store:timeout
        housekeeping.every(lambda: PROBE_S, self._look)

    def succeeded(self) -> None:
        if self._failures:
            self._failures = 0

    def failed(self, error: BaseException) -> None:
        with self._lock:
            self._failures += 1
            self.cause = f"store:{faults.of(error).name}"
            if self.open or self._failures < FAILURES_TO_OPEN:
                return
            self.open, self._opened_at_s = True, time.monotonic()
        logger.error("ratewindow: Redis does not answer, %s until it does: %s: %s", self._holds(), type(error).__name__, error)

    def reset(self) -> None:
        """Forget what happened: the server is another one now."""
        self.open, self._failures = False, 0

    def _look(self) -> None:
        if not self.open:
            return
        try:
            self._probe()
        except Exception:  # whatever is wrong, it is still wrong, and the log has said so
            return
        with self._lock:
            self.open, self._failures = False, 0
        logger.warning("ratewindow: Redis answers again after %.1f s, requests are counted", time.monotonic() - self._opened_at_s)
