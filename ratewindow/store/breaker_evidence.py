"""What the outcomes of calls say about a server: a hiccup, an outage, or that an outage is over."""

FAILURES_TO_OPEN = 3  # in a row
LAST = 32  # calls that are remembered, from the first without an answer on
PART = 8  # of them without an answer are an outage, too, whatever comes between
STALE_S = 10.0  # what was so long ago says nothing about now
QUIET_S = 0.5  # of trial without a request: it is over for whoever looks
HEALED = 8  # answers in a row after which an outage is another one
MOST_PROOF = 64

_ALL = (1 << LAST) - 1


class Failures:
    """Those of the last calls. An error that the server answers makes nobody wait, and where other calls work in between it
    is about some rule and not about the server: only such errors in a row count. What has no answer counts by its share."""

    def __init__(self) -> None:
        self.in_a_row = 0
        self._recent, self._last_s = 0, float("-inf")

    def add(self, answered: bool, now_s: float) -> bool:
        """Whether this one makes an outage."""
        if now_s - self._last_s > STALE_S:
            self._recent = 0
        self._last_s = now_s
        self.in_a_row += 1
        self._recent = (self._recent << 1 | (not answered)) & _ALL
        return self.in_a_row >= FAILURES_TO_OPEN or self._recent.bit_count() >= PART

    def add_answer(self) -> bool:
        """A call that was answered; whether there is nothing left to remember."""
        self.in_a_row = 0
        self._recent = self._recent << 1 & _ALL
        return not self._recent


class Trial:
    """Requests ask again, since a probe was answered: what is still to be shown. A server that has failed its trial before,
    `relapses` times, has to answer more often."""

    def __init__(self, relapses: int, now_s: float) -> None:
        self.relapses = relapses
        self.passed = False
        self._began_s, self._failed_s = now_s, float("-inf")
        self._answers = 0
        self._proof = min(MOST_PROOF, HEALED << (relapses - 1)) if relapses else 1

    def add_failure(self, now_s: float) -> None:
        self._failed_s, self._answers = now_s, 0

    def add_partial(self, now_s: float) -> None:
        """A failure that is known to be about some calls alone: it proves nothing, and nothing against the server."""
        if not self.passed:
            self._failed_s = now_s

    def add_answer(self) -> None:
        self._answers += 1
        self.passed = self.passed or self._answers >= self._proof

    def look(self, now_s: float) -> None:
        """Nobody asks: no failure for a while has to do."""
        doubtful = self.relapses or self._failed_s >= self._began_s
        quiet_s = now_s - max(self._began_s, self._failed_s)
        self.passed = self.passed or quiet_s >= (STALE_S if doubtful else QUIET_S)

    def is_over(self, now_s: float) -> bool:
        """What fails from now on is another outage."""
        enough = self._answers >= max(HEALED, self._proof)
        return self.passed and (enough or now_s - max(self._began_s, self._failed_s) >= STALE_S)


class Partial:
    """Faults that the server answers to some calls, though a probe asks as they do and is answered: a right that the script
    of one rule needs, say. No outage, as long as they are met again."""

    SUSPECTED_S = 3.0
    KEPT_S = 60.0

    def __init__(self) -> None:
        self._until_s: dict[str, float] = {}

    def suspect(self, fault: str, now_s: float) -> None:
        self._until_s[fault] = now_s + self.SUSPECTED_S

    def has(self, fault: str, now_s: float) -> bool:
        until_s = self._until_s.pop(fault, 0.0)
        if now_s > until_s:
            return False
        self._until_s[fault] = now_s + self.KEPT_S
        return True
