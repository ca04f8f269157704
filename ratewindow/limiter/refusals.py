"""Refusals that this process remembers: a client that hammers is refused without a call of the server each time."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable

from ratewindow.limiter.forks import renew_lock_after_fork
from ratewindow.limiter.reply import NO_VERDICT, Reply, decision, shortened
from ratewindow.limiter.types import Check, Decision

BELIEVED_MS = 1000
MOST_KNOWN = 10_000
MOST_MS = 2**53


class Refusals:
    """Replies that refused, believed until their wait is over, and at most `believed_ms`.

    So nothing is ever admitted that the server would refuse, and nothing is refused for longer than
    `believed_ms` that the server would admit: after a refund or a reset elsewhere, an edit, lost data, or a
    step of the server's clock. A refusal is believed from before the call of the server, and its wait grows shorter
    from when the reply was there: so a client that waits exactly so long is admitted.
    Thread-safe; it knows at most `MOST_KNOWN` refusals and forgets the oldest first.
    """

    def __init__(self, believed_ms: int = BELIEVED_MS, clock_ms: Callable[[], int] | None = None) -> None:
        self._believed_ms, self._decides = believed_ms, clock_ms is not None  # by a caller's clock the server decides, too
        self.clock_ms: Callable[[], float] = clock_ms or _monotonic_ms
        self._lock = threading.Lock()
        renew_lock_after_fork(self)
        self.known: OrderedDict[tuple[Check, ...], tuple[float, float, float, Reply]] = OrderedDict()

    def __bool__(self) -> bool:
        """Whether any refusal is known."""
        return bool(self.known)

    def recall(self, checks: list[Check], now_ms: float | None = None) -> Decision | None:
        """The decision on a hit that is known to be refused, with its times as they are now; None: ask the server.

        `now_ms` is the time by `clock_ms`, where it has been read already.
        """
        known = self.known.get(tuple(checks))
        if known is None:
            return None
        asked_ms, until_ms, replied_ms, reply = known
        if now_ms is None:
            now_ms = self.clock_ms()
        if not asked_ms <= now_ms < until_ms:
            self.known.pop(tuple(checks), None)
            return None
        return decision(checks, shortened(reply, max(0, int(now_ms - replied_ms))))

    def learn(self, checks: list[Check], reply: Reply, asked_ms: float) -> None:
        """Remember the reply, which has just come, to a hit of `asked_ms`, if it will stay a refusal for a while."""
        wait_ms = _lasting_wait_ms(checks, reply)
        if wait_ms > 0 and self._believed_ms:
            until_ms = asked_ms + min(wait_ms, self._believed_ms)
            replied_ms = asked_ms if self._decides else self.clock_ms()
            with self._lock:
                self.known[tuple(checks)] = (asked_ms, until_ms, replied_ms, reply)
                if len(self.known) > MOST_KNOWN:
                    self.known.popitem(last=False)

    def forget(self) -> None:
        """Believe no refusal any more: units were refunded, or charged beyond what is full."""
        with self._lock:
            self.known.clear()


def _monotonic_ms() -> float:
    return time.monotonic_ns() / 1_000_000


def _lasting_wait_ms(checks: list[Check], reply: Reply) -> int:
    """How long the server will go on refusing, whatever others do; 0 when that is not sure.

    It is when every request costs 1, the window of the longest wait has no room left, and asking again would
    change nothing: no refused request is counted, and no client is locked out.
    """
    longest, remaining_then, soonest_unlocked = 0, 0, MOST_MS
    for check, (verdict, lock_wait_ms, windows) in zip(checks, reply, strict=True):
        if check.cost != 1 or check.counts_refused:
            return 0
        if verdict == 0:
            return 0  # it may become full, and would lock the client out then
        if verdict != NO_VERDICT:
            soonest_unlocked = min(soonest_unlocked, lock_wait_ms)  # a refusal after that locks again
            if check.enforce and lock_wait_ms > longest:
                longest, remaining_then = lock_wait_ms, 0
        for window in windows:
            if check.enforce and window.wait_ms > longest:
                longest, remaining_then = window.wait_ms, window.remaining
    return 0 if remaining_then else min(longest, soonest_unlocked)
