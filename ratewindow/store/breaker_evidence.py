"""What outcomes of calls say about a server: a hiccup, an outage, faults of some calls only, or the end of an outage."""

FAILURES_TO_OPEN = 3  # in a row
LAST = 32  # calls that are remembered, beginning with the first one without an answer
PART = 8  # of them without an answer are an outage, too, even with answers in between
STALE_S = 10.0  # older outcomes say nothing about now
QUIET_S = 0.5  # a trial without a request passes after this time
HEALED = 8  # answers in a row, after which the next failures are a new outage
MOST_PROOF = 64

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


class Partial:
    """Faults that the server answers to some calls only, while a probe works: a permission that the script of one rule needs,
    for example. They are no outage as long as they are met again and again."""

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
