"""Refusals that this process knows of: a client that hammers is told so without asking the server each time."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable

from ratewindow.limiter.types import Check, Decision
from ratewindow.limiter.wire import decision, tells_verdict

BELIEVED_MS = 1000
MOST_KNOWN = 10_000
MOST_MS = 2**53


class Refusals:
    """Replies that refused, believed until the wait they told is over, and at most `believed_ms`.

    So nothing is ever admitted that the server would refuse, and nothing is refused for longer than
    `believed_ms` that the server would admit: after a refund or a reset elsewhere, an edit, lost data, or a
    step of the server's clock. The time counts from before the server was asked. Thread-safe; it knows at
    most `MOST_KNOWN` refusals and forgets the oldest first.
    """

    def __init__(self, believed_ms: int = BELIEVED_MS, clock_ms: Callable[[], int] | None = None) -> None:
        self._believed_ms = believed_ms
        self.clock_ms = clock_ms or _monotonic_ms
        self._lock = threading.Lock()
        self._known: OrderedDict[Hashable, tuple[int, int, list[Check], list[int]]] = OrderedDict()

    def __bool__(self) -> bool:
        """Whether it is worth the while to make a key and ask."""
        return bool(self._known)

    def recall(self, key: Hashable) -> Decision | None:
        """The decision on a hit that is known to be refused, with its times as they are now; None: ask the server."""
        known = self._known.get(key)
        if known is None:
            return None
        asked_ms, until_ms, checks, reply = known
        now_ms = self.clock_ms()
        if not asked_ms <= now_ms < until_ms:
            self._known.pop(key, None)
            return None
        return decision(checks, _later(checks, reply, now_ms - asked_ms))

    def learn(self, key: Hashable, checks: list[Check], reply: list[int], asked_ms: int) -> None:
        """Remember the reply to a hit that the server was asked at `asked_ms`, if it will stay a refusal for a while.

        `key` is all that the reply depends on beside the state: whose it is, and which limits were asked about.
        """
        wait_ms = _lasting_wait_ms(checks, reply)
        if wait_ms > 0 and self._believed_ms:
            with self._lock:
                self._known[key] = (asked_ms, asked_ms + min(wait_ms, self._believed_ms), checks, reply)
                if len(self._known) > MOST_KNOWN:
                    self._known.popitem(last=False)

    def forget(self) -> None:
        """Believe nothing: something was given back."""
        with self._lock:
            self._known.clear()


def _monotonic_ms() -> int:
    return time.monotonic_ns() // 1_000_000


def key_of(checks: list[Check]) -> Hashable:
    """A key for these checks, by the names of their state."""
    return tuple(
        [(check.keys, check.cost, check.enforce, *[(window.limit, window.burst) for window in check.windows]) for check in checks]
    )


def _lasting_wait_ms(checks: list[Check], reply: list[int]) -> int:
    """How long the server will go on refusing, whatever others do; 0 when that is not sure.

    It is when every request costs 1, the window of the longest wait has no room left, and asking again would
    change nothing: no refused request is counted, and who is to be locked out is.
    """
    longest, remaining_then, soonest_unlocked, at = 0, 0, MOST_MS, 0
    for check in checks:
        if check.cost != 1 or check.counts_refused:
            return 0
        if tells_verdict(check, "hit"):
            verdict, lock_wait_ms = reply[at], reply[at + 1]
            if not verdict:
                return 0  # it may become full, and then would lock
            soonest_unlocked = min(soonest_unlocked, lock_wait_ms)  # a refusal after that locks anew
            if check.enforce and lock_wait_ms > longest:
                longest, remaining_then = lock_wait_ms, 0
            at += 2
        for _ in check.windows:
            remaining, wait_ms = reply[at], reply[at + 1]
            if check.enforce and wait_ms > longest:
                longest, remaining_then = wait_ms, remaining
            at += 4
    return 0 if remaining_then else min(longest, soonest_unlocked)


def _later(checks: list[Check], reply: list[int], passed_ms: int) -> list[int]:
    """The reply as it would be told now: every time is shorter by what has passed."""
    told, at = list(reply), 0
    if not passed_ms:
        return told
    for check in checks:
        if tells_verdict(check, "hit"):
            told[at + 1] = max(0, told[at + 1] - passed_ms)
            at += 2
        for _ in check.windows:
            for place in (at + 1, at + 2):
                left_ms = told[place] - passed_ms
                told[place] = left_ms if left_ms > 0 else min(told[place], 0)  # -1 stays: never is never
            at += 4
    return told
