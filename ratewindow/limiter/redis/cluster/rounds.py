"""One request over several servers: which of them is called for what and when, and one reply from theirs.

A script sees one slot of a cluster. All keys of one client lie in one slot, but a rule by address and a rule
by user are two: each slot's checks are a group, and one group is one call. Round 1 looks at all groups at the
same moment, and when all admit, round 2 charges all. Only when somebody else took the last unit in between,
what the others have charged is refunded. Nothing here calls a server: a `Conversation` says what to call,
and is sent the replies, so that it is the same for sync and async.
"""

from collections.abc import Generator, Iterable
from contextlib import suppress
from typing import NamedTuple

from redis.crc import key_slot
from redis.exceptions import RedisError

from ratewindow.limiter.redis.commands import Call, decide_call, refund_call
from ratewindow.limiter.reply import NO_VERDICT, Answer, Reply, parse, tells_verdict
from ratewindow.limiter.types import Check, Flag, Refunds, What, WindowAnswer

# Says which calls go out at the same moment, is sent the numbers of each reply, in the end returns the whole reply.
Conversation = Generator[list[Call], list[list[int]], Reply]
Parts = dict[int, Answer]  # of the reply, by the check's place in the request


def decide(checks: list[Check], what: What, now_ms: int | None) -> Conversation:
    """The reply of ``lua/decide.lua``, as if one script had seen all checks."""
    if in_one_slot(checks):
        [numbers] = yield [decide_call(checks, what, now_ms)]
        return parse(checks, numbers, what)
    request = _Request(checks, _slots(checks), now_ms)
    if what in ("hit", "peek"):
        answers = yield from request.judge(what)
    else:  # these need no agreement
        answers = yield from request.ask(range(len(checks)), what)
    return [answers[place] for place in range(len(checks))]


def in_one_slot(checks: list[Check]) -> bool:
    return len(checks) == 1 or len(set(_slots(checks))) == 1


def refund(refunds: Refunds, now_ms: int | None, flag: Flag | None = None) -> Conversation:
    """Refund, each slot for itself, and set a key in its own."""
    groups = _by_slot(range(len(refunds)), _slots(check for check, _ in refunds))
    flags = [refund_call([], now_ms, flag)] if flag is not None else []
    if calls := [*(refund_call([refunds[place] for place in group], now_ms) for group in groups), *flags]:
        yield calls
    return []


class _Request(NamedTuple):
    checks: list[Check]
    slots: list[int]
    now_ms: int | None

    def ask(self, places: Iterable[int], what: What) -> Generator[list[Call], list[list[int]], Parts]:
        """Ask all servers concerned about the checks at `places`."""
        groups = _by_slot(places, self.slots)
        if not groups:
            return {}
        replies = yield [decide_call([self.checks[place] for place in group], what, self.now_ms) for group in groups]
        parts: Parts = {}
        for group, numbers in zip(groups, replies, strict=True):
            parts |= zip(group, parse([self.checks[place] for place in group], numbers, what), strict=True)
        return parts

    def judge(self, what: What) -> Generator[list[Call], list[list[int]], Parts]:
        everywhere = range(len(self.checks))
        nothing = {place: _nothing(self.checks[place]) for place in everywhere}
        # A shadow rule is not even looked at before it is known that the request passes.
        looked = yield from self.ask(
            [place for place in everywhere if self.checks[place].enforce], "look" if what == "hit" else "peek"
        )
        if self._refusing(looked):
            counted = (yield from self._tell_refused(looked)) if what == "hit" else {}
            # Somebody's refund may have made room meanwhile: the request is refused nevertheless.
            return nothing | looked | (counted if self._refusing(looked | counted) else {})
        if what == "peek":
            return looked | (yield from self.ask([place for place in everywhere if place not in looked], "peek"))
        charged = yield from self.ask(everywhere, "hit")
        losing = {self.slots[place] for place in self._refusing(charged)}
        if not losing:
            return charged
        # What counts refused requests has counted this one, and keeps it.
        innocent = [place for place in everywhere if self.slots[place] not in losing and not self.checks[place].counts_refused]
        charges = [(self.checks[place], [window.charged_at_ms for window in charged[place].windows]) for place in innocent]
        with suppress(RedisError, OSError):  # it is refused in any case; what it holds leaves with its period
            yield from refund([(check, times) for check, times in charges if max(times) >= 0], self.now_ms)
        return charged | {place: looked.get(place, nothing[place]) for place in innocent}

    def _tell_refused(self, looked: Parts) -> Generator[list[Call], list[list[int]], Parts]:
        """The second round of a refused request: for rules that count it, or that lock out the clients they refuse."""
        locking = {place for place, answer in looked.items() if self.checks[place].penalty_ms and answer.verdict == 1}
        concerned = {self.slots[place] for place, check in enumerate(self.checks) if check.counts_refused or place in locking}
        return (yield from self.ask([place for place, slot in enumerate(self.slots) if slot in concerned], "refused"))

    def _refusing(self, parts: Parts) -> list[int]:
        return [place for place, answer in parts.items() if self.checks[place].enforce and answer.refuses]


def _slots(checks: Iterable[Check]) -> list[int]:
    return [key_slot(check.keys[0].encode()) for check in checks]


def _by_slot(places: Iterable[int], slots: list[int]) -> list[list[int]]:
    groups: dict[int, list[int]] = {}
    for place in places:
        groups.setdefault(slots[place], []).append(place)
    return list(groups.values())


def _nothing(check: Check) -> Answer:
    """The answer to a check for which no server was called: all 0, and not charged."""
    return Answer(
        0 if tells_verdict(check, "look") else NO_VERDICT, 0, tuple([WindowAnswer(window, 0, 0, 0) for window in check.windows])
    )
