"""One request over several servers: which of them is asked what and when, and one reply out of theirs.

A script sees one slot of a cluster. All keys of one client lie in one slot, but a rule by address and a rule
by user are two: each slot's checks are a group, and one group is one call. Round 1 looks at all groups at the
same moment, and when all admit, round 2 charges all. Only when somebody else took the last unit in between,
what the others have charged is given back. Nothing here calls a server: a `Conversation` says what to call,
and is sent the replies, so that it is the same for sync and async.
"""

from collections.abc import Generator, Iterable
from contextlib import suppress
from typing import NamedTuple

from redis.crc import key_slot
from redis.exceptions import RedisError

from ratewindow.limiter.redis.commands import Call, decide_call, refund_call
from ratewindow.limiter.reply import width
from ratewindow.limiter.types import Check, Refunds, What

# Says which calls go out at the same moment, is sent their replies, in the end returns the whole reply.
Conversation = Generator[list[Call], list[list[int]], list[int]]
Parts = dict[int, list[int]]  # of the reply: the numbers of single checks, by their place in the request


def decide(checks: list[Check], what: What, now_ms: int | None) -> Conversation:
    """The reply of ``lua/decide.lua``, as if one script had seen all checks."""
    if in_one_slot(checks):
        [reply] = yield [decide_call(checks, what, now_ms)]
        return reply
    request = _Request(checks, _slots(checks), now_ms)
    if what in ("hit", "peek"):
        told = yield from request.judge(what)
    else:  # these need no agreement
        told = yield from request.ask(range(len(checks)), what)
    return [number for place in range(len(checks)) for number in told[place]]


def in_one_slot(checks: list[Check]) -> bool:
    return len(checks) == 1 or len(set(_slots(checks))) == 1


def refund(refunds: Refunds, now_ms: int | None) -> Conversation:
    """Give back, each slot for itself."""
    groups = _by_slot(range(len(refunds)), _slots(check for check, _ in refunds))
    if groups:
        yield [refund_call([refunds[place] for place in group], now_ms) for group in groups]
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
        told: Parts = {}
        for group, reply in zip(groups, replies, strict=True):
            at = 0
            for place in group:
                end = at + width(self.checks[place], what)
                told[place], at = reply[at:end], end
        return told

    def judge(self, what: What) -> Generator[list[Call], list[list[int]], Parts]:
        everywhere = range(len(self.checks))
        nothing = {place: _nothing(self.checks[place]) for place in everywhere}
        # A shadow rule is not even looked at before it is known that the request passes.
        looked = yield from self.ask([place for place in everywhere if self.checks[place].enforce], "peek")
        if self._refusing(looked):
            counted = (yield from self._tell_refused(looked)) if what == "hit" else {}
            # Somebody's refund may have made room meanwhile: the request is refused nevertheless.
            return nothing | looked | (counted if self._refusing(looked | counted) else {})
        if what == "peek":
            return looked | (yield from self.ask([place for place in everywhere if place not in looked], "peek"))
        told = yield from self.ask(everywhere, "hit")
        losing = {self.slots[place] for place in self._refusing(told)}
        if not losing:
            return told
        # What counts refused requests has counted this one, and keeps it.
        innocent = [place for place in everywhere if self.slots[place] not in losing and not self.checks[place].counts_refused]
        charges = [(self.checks[place], _times(self.checks[place], told[place])) for place in innocent]
        with suppress(RedisError, OSError):  # it is refused in any case; what it holds leaves with its period
            yield from refund([(check, times) for check, times in charges if max(times) >= 0], self.now_ms)
        return told | {place: looked.get(place, nothing[place]) for place in innocent}

    def _tell_refused(self, looked: Parts) -> Generator[list[Call], list[list[int]], Parts]:
        """The second round of a refused request: for rules that count it, or that lock out whom they refuse."""
        locking = {place for place, part in looked.items() if self.checks[place].penalty_ms and part[0] == 1}
        concerned = {self.slots[place] for place, check in enumerate(self.checks) if check.counts_refused or place in locking}
        return (yield from self.ask([place for place, slot in enumerate(self.slots) if slot in concerned], "refused"))

    def _refusing(self, told: Parts) -> list[int]:
        return [place for place, part in told.items() if self.checks[place].enforce and _refuses(self.checks[place], part)]


def _slots(checks: Iterable[Check]) -> list[int]:
    return [key_slot(check.keys[0].encode()) for check in checks]


def _by_slot(places: Iterable[int], slots: list[int]) -> list[list[int]]:
    groups: dict[int, list[int]] = {}
    for place in places:
        groups.setdefault(slots[place], []).append(place)
    return list(groups.values())


def _nothing(check: Check) -> list[int]:
    """What is told of a check that was not asked: all 0, and not charged."""
    return [0, 0] * check.tells_verdict + [0, 0, 0, -1] * len(check.windows)


def _refuses(check: Check, part: list[int]) -> bool:
    return part[0] > 0 if check.tells_verdict else any(part[1::4])


def _times(check: Check, part: list[int]) -> list[int]:
    return part[(5 if check.tells_verdict else 3) :: 4]
