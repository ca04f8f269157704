"""What a decision must be, from engine rules and single units alone: slow, obvious, and none of our code.

A unit is remembered for ever as the time when it was charged. All else follows from that, each time anew.
"""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Limit:
    limit: int
    period: int
    width: int  # of a bucket; a unit leaves with the last millisecond of its own

    def leaves(self, charged_at: int) -> int:
        last_of_its_bucket = charged_at - charged_at % self.width + self.width - 1
        return last_of_its_bucket + self.period


@dataclass
class Question:
    """One rule of a request: for each of its windows a key and a limit."""

    limits: dict[str, Limit]
    cost: int
    enforce: bool = True


@dataclass
class Oracle:
    units: dict[str, list[int]] = field(default_factory=dict)

    def run(self, questions: list[Question], charge: bool, now: int) -> list[int]:
        """Remaining, wait and reset for each window of each rule, and the charges they lead to."""
        for question in questions:
            if question.enforce:
                self._forget_impossible(question, now)
        refused = any(question.enforce and self._full(question, now) for question in questions)
        if not refused:
            for question in questions:
                if not question.enforce:
                    self._forget_impossible(question, now)
        passing = [question for question in questions if not refused and not self._full(question, now)]
        if charge:
            for question in (each for each in passing if each.cost):
                for key, limit in question.limits.items():
                    own = self._counting(key, limit, now)
                    self.units[key] = own + [self._effective(key, limit, now)] * question.cost
        reply = []
        for question in questions:
            for key, limit in question.limits.items():
                if refused and not question.enforce:
                    reply += [0, 0, 0]
                else:
                    reply += self._numbers(key, limit, question.cost, now, passed=question in passing)
        return reply

    def _forget_impossible(self, question: Question, now: int) -> None:
        for key, limit in question.limits.items():
            own = self.units.get(key)
            if own and max(own) // limit.width * limit.width - now > limit.period:
                del self.units[key]

    def _effective(self, key: str, limit: Limit, now: int) -> int:
        """A clock that went back stands still at the newest charge, which is known to its bucket."""
        own = self.units.get(key)
        return max(now, max(own) // limit.width * limit.width) if own else now

    def _counting(self, key: str, limit: Limit, now: int) -> list[int]:
        effective = self._effective(key, limit, now)
        return sorted(unit for unit in self.units.get(key, []) if limit.leaves(unit) > effective)

    def _full(self, question: Question, now: int) -> bool:
        return any(len(self._counting(key, limit, now)) + question.cost > limit.limit for key, limit in question.limits.items())

    def _numbers(self, key: str, limit: Limit, cost: int, now: int, passed: bool) -> list[int]:
        own = self._counting(key, limit, now)
        wait = 0
        if not passed and cost > limit.limit:
            wait = -1
        elif not passed and len(own) + cost > limit.limit:
            # The first moment at which so few still count that the cost fits.
            wait = (
                min(t for t in map(limit.leaves, own) if sum(limit.leaves(unit) > t for unit in own) + cost <= limit.limit) - now
            )
        remaining = max(0, limit.limit - len(own))
        growth = [t for t in map(limit.leaves, own) if limit.limit - sum(limit.leaves(unit) > t for unit in own) > remaining]
        return [remaining, wait, max(wait, min(growth) - now if growth else 0)]
