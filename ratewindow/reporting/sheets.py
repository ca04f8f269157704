"""The sheet of one minute: what each rule decided in it, and for whom, while that grows in this process."""

from dataclasses import dataclass, field

from ratewindow.limiter.types import Decision
from ratewindow.reporting import latency
from ratewindow.reporting.about_request import Facts, about
from ratewindow.reporting.codes import Codes
from ratewindow.reporting.sums import NUMBERS, Sums
from ratewindow.reporting.who import CLIENT, MOST_REFUSED, Counted
from ratewindow.reporting.who_counts import REFUSING, Copy, WhoCounts

MOST_CLIENTS = 600  # of one minute in all rules together, unless that is fewer than `LEAST_CLIENTS` of each
LEAST_CLIENTS = 4


class Line:
    """The sums of one rule in one minute, while they grow."""

    __slots__ = ("met", "numbers", "reasons", "spans", "who")

    def __init__(self) -> None:
        self.who = WhoCounts()
        self.met = self.who.met
        self.numbers = [0] * len(NUMBERS)
        self.reasons: dict[str, int] = {}
        self.spans = [0] * latency.SPANS

    def copied(self) -> Copy:
        passed, refused, other, would_refuse, *_ = self.numbers
        return self.who.copied(Counted(refused, would_refuse, passed + refused + other))

    def frozen(self) -> Sums:
        return Sums.of(self.numbers, dict(self.reasons), latency.tally_of(self.spans))


@dataclass
class Sheet:
    """The sums of one minute. If a minute is opened again, its new token makes its counts add to those sent before."""

    token: str
    lines: dict[str, Line] = field(default_factory=dict)
    changes: int = 0
    sent: int = 0  # `changes` when they were last sent
    # Those refused, or without an identity, of whom `about` is not known yet.
    waiting: list[tuple[WhoCounts, str, str, Facts | str, Decision]] = field(default_factory=list)
    codes: Codes = field(default_factory=Codes)

    def count_waiting(self) -> None:
        """Count who they were. Of many at once, and not in each request: it takes longer than all the rest."""
        waiting, self.waiting = self.waiting, []
        for counts, outcome, client, facts, decision in waiting:
            known = about(facts)
            if decision.id:
                self.codes.add(decision, client or known.client, known)
            if not client and known.client:
                counts.meet(known.client)
            if (client or known.client) and outcome in REFUSING:
                counts.refuse(outcome, client or known.client, known)

    def frozen(self) -> dict[str, Sums]:
        return {rule: line.frozen() for rule, line in self.lines.items()}

    def copied(self) -> dict[str, Copy]:
        self.count_waiting()
        return {rule: line.copied() for rule, line in self.lines.items()}

    def share(self) -> int:
        """How many clients of each rule are kept once the minute is over, and sent."""
        return max(LEAST_CLIENTS, min(MOST_REFUSED[CLIENT], MOST_CLIENTS // max(1, len(self.lines))))
