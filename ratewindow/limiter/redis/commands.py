"""Checks as a command for Redis, and its reply as a decision: pure, and the same for sync and async."""

import random
import time
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from typing import Any, Literal, NamedTuple, get_args

from ratewindow.limiter import forks
from ratewindow.limiter.redis.scripts import Script, script_for
from ratewindow.limiter.redis.server_clock import HostMs
from ratewindow.limiter.types import Check, Decision, TooManyWindows, Window, WindowAnswer, bulk, check_number

What = Literal["hit", "peek", "force", "charge", "refused"]
Refunds = Sequence[tuple[Check, Sequence[int | None]]]  # what to give back, and when each window was charged
Words = list[str | int]

_PACKED = {what: bulk(what) for what in get_args(What)}
_answer = partial(tuple.__new__, WindowAnswer)  # of five values in a row, without a step of Python for each
_LETTERS = "23456789abcdefghjkmnpqrstuvwxyz"  # without those that are mistaken for each other
_PAIRS = [first + second for first in _LETTERS for second in _LETTERS]


class Call(NamedTuple):
    """One call of a script: by its digest, or in full to a server that does not know it."""

    script: Script
    words: Words
    parts: int  # how many numbers the reply has
    at: Callable[[int], "Call"] | None = None  # the same at a given time; None where it is at one already

    @property
    def key(self) -> str:
        """The first key: on a cluster it says which server to call."""
        return str(self.words[1])

    def by_sha(self) -> Words:
        return ["EVALSHA", self.script.sha, *self.words]

    def in_full(self) -> Words:
        return ["EVAL", self.script.source, *self.words]


def packed(words: Words) -> bytes:
    """A command in the protocol of Redis."""
    return b"*%d\r\n%b" % (len(words), b"".join(map(bulk, words)))


def merged(checks: list[Check]) -> list[Check]:
    """The checks with no state key twice: one window met twice is charged once, with the larger cost.

    Of two limits on one count the stricter holds. An enforcing check wins over one in shadow. A check that is left
    without windows is answered by the one that took them, and has gone from the list.
    """
    keys = [key for check in checks for key in check.keys]
    if len(keys) == 1 or len(set(keys)) == len(keys):
        return checks
    cost = {key: max(check.cost for check in checks if key in check.keys) for key in keys}
    taken: set[str] = set()
    kept = []
    for check in sorted(checks, key=lambda check: not check.enforce):
        met: dict[str, list[Window]] = {}
        for window, key in zip(check.windows, check.keys, strict=True):
            if key not in taken:
                met.setdefault(key, []).append(window)
        taken.update(met)
        if met:
            own = dict(each for key, windows in met.items() for each in _strictest(key, windows))
            kept.append(check._replace(windows=tuple(own.values()), keys=tuple(own), cost=max(cost[key] for key in met)))
    return kept


def _strictest(key: str, windows: list[Window]) -> Iterator[tuple[str, Window]]:
    """Of windows with one state the one that admits nothing which another would refuse.

    Of two buckets, one with the lower limit and one with the smaller burst, neither is: one level cannot drain at two
    rates, so each has its own.
    """
    least, kept = None, 0
    for window in sorted(windows, key=lambda window: (window.limit, window.burst or 0)):
        if least is None or (least.limit and window.burst and least.burst and window.burst < least.burst):
            yield f"{key}:{kept}" if kept else key, window
            least, kept = window, kept + 1


def decide_call(checks: list[Check], what: What, now_ms: int | None) -> Call:
    """The call with the KEYS and ARGV that ``lua/decide.lua`` states."""
    keys = _keys(checks)
    if len(keys) > 1:
        check_number(checks)
    # Edges of the clock are about this process's time; the script picks by the server's.
    about_ms = time.time_ns() // 1_000_000 if now_ms is None else now_ms
    if _is_usual(checks, what):
        arguments: Words = [*checks[0].windows[0].arguments(about_ms), *([] if now_ms is None else [now_ms])]
    else:
        arguments = [what if now_ms is None else f"{what} {now_ms:013}"]  # the script tells by the length if there is one
        for check in checks:
            arguments += _head(check)
            for window in check.windows:
                arguments += window.arguments(about_ms)
    at = partial(decide_call, checks, what) if now_ms is None else None
    script = script_for("decide", checks, _stands_still(now_ms))
    return Call(script, [len(keys), *keys, *arguments], reply_parts(checks, what), at)


def _stands_still(now_ms: int | None) -> bool:
    """Whether it is by a clock which the server's need not follow."""
    return now_ms is not None and not isinstance(now_ms, HostMs)


def _keys(checks: list[Check]) -> list[str]:
    """Of each check its lock, if it has a penalty, then its windows."""
    return [key for check in checks for key in ((check.lock, *check.keys) if check.penalty_ms else check.keys)]


def _is_usual(checks: list[Check], what: What) -> bool:
    """Whether it is a hit of one window of one rule that enforces and nothing else: nothing but the window is told then."""
    return what == "hit" and len(checks) == 1 and _head(checks[0]) == [17]


def _head(check: Check) -> Words:
    """A check's kind, then its cost unless that is 1, then its penalty if it has one."""
    kind = 16 * len(check.windows) + (1 if check.enforce else 0) + (2 if check.counts_refused else 0)
    kind += (4 if check.penalty_ms else 0) + (8 if check.cost != 1 else 0)
    head: Words = [-kind if check.only_looks else kind]
    if check.cost != 1:
        head.append(check.cost)
    if check.penalty_ms:
        head.append(check.penalty_ms)
    return head


def packed_decide(checks: list[Check], what: What, now_ms: int | None) -> bytes | None:
    """`decide_call` in the protocol of Redis, as a client would pack it; None for a given time, and where the edges of
    a window depend on the time.

    What stands around the keys is the same for every client, and is remembered.
    """
    if now_ms is not None:
        return None
    if len(checks) == 1:
        _, windows, keys, cost, enforce, counts_refused, penalty_ms, lock, only_looks, _ = checks[0]
        around = _around(what, windows, cost, enforce, counts_refused, penalty_ms, only_looks)
        if penalty_ms:
            keys = (lock, *keys)
    else:
        shapes: list[Any] = []
        for check in checks:
            shapes += (check.windows, *check[3:7], check.only_looks)
        around, keys = _around(what, *shapes), tuple(_keys(checks))
    if around is None:
        return None
    before, behind = around
    if len(keys) == 1:
        key = keys[0].encode()
        return b"%b$%d\r\n%b\r\n%b" % (before, len(key), key, behind)
    length = f"${len(keys[0])}\r\n"
    together = length + f"\r\n{length}".join(keys) + "\r\n"
    if together.isascii() and len(set(map(len, keys))) == 1:  # as the keys of one prefix are
        return before + together.encode() + behind
    return b"".join([before, *map(bulk, keys), behind])


@lru_cache(maxsize=1024)
def _around(what: What, *shapes: Any) -> tuple[bytes, bytes] | None:
    """What stands before the keys of some checks, and what behind; of each is told what `Check` is made of, but for its
    rule, and what names the client."""
    checks = []
    for at in range(0, len(shapes), 6):
        windows, cost, enforce, counts_refused, penalty_ms, only_looks = shapes[at : at + 6]
        checks.append(Check("", windows, ("",) * len(windows), cost, enforce, counts_refused, penalty_ms, "", only_looks))
    is_usual = _is_usual(checks, what)
    behind, count = ([], 3) if is_usual else ([_PACKED[what]], 4)
    for check in checks:
        head = [] if is_usual else _head(check)
        behind += map(bulk, head)
        for window in check.windows:
            if window.packed is None:
                return None
            behind.append(window.packed)
        count += len(head) + 4 * len(check.windows)
    try:
        check_number(checks)
    except TooManyWindows:
        return None  # as `decide_call` says, with the rules' names
    keys = len(_keys(checks))
    before = b"*%d\r\n$7\r\nEVALSHA\r\n%b%b" % (count + keys, script_for("decide", checks).packed_sha, bulk(keys))
    return before, b"".join(behind)


def refund_call(refunds: Refunds, now_ms: int | None) -> Call:
    """The call of ``lua/refund.lua``: of each check its cost, for the times its windows were charged at."""
    keys: Words = []
    arguments: Words = ["" if now_ms is None else now_ms]
    about_ms = time.time_ns() // 1_000_000 if now_ms is None else now_ms
    for check, times in refunds:
        keys += check.keys
        for window, charged_at_ms in zip(check.windows, times, strict=True):
            arguments += (*window.arguments(about_ms), check.cost, "" if charged_at_ms is None else charged_at_ms)
    parts = sum(len(check.windows) for check, _ in refunds)
    script = script_for("refund", [check for check, _ in refunds], _stands_still(now_ms))
    return Call(script, [len(keys), *keys, *arguments], parts, partial(refund_call, refunds) if now_ms is None else None)


def tells_verdict(check: Check, what: What) -> bool:
    """Whether the reply has two numbers for the check itself, before those of its windows."""
    return check.counts_refused or check.penalty_ms > 0 or what in ("force", "charge")


def width(check: Check, what: What) -> int:
    """How many numbers of the reply are about this check."""
    told = check.counts_refused or check.penalty_ms > 0 or what in ("force", "charge")  # as `tells_verdict`, without a call
    return 4 * len(check.windows) + (2 if told else 0)


def reply_parts(checks: list[Check], what: What) -> int:
    """How many numbers the whole reply has."""
    return width(checks[0], what) if len(checks) == 1 else sum([width(check, what) for check in checks])


def decision(checks: list[Check], reply: Sequence[int], what: What = "hit") -> Decision:
    """What the reply, as ``lua/decide.lua`` states it, says about the request and each of its rules."""
    first = checks[0]
    if first.enforce and (len(reply) == 4 or (len(checks) == 1 and len(reply) == 4 * len(first.windows))):
        return _usual(first, reply)
    parts, at = [], 0
    for check in checks:
        numbers = reply[at : at + width(check, what)]
        at += len(numbers)
        is_usual = check.enforce and len(numbers) == 4 * len(check.windows)
        parts.append(_usual(check, numbers) if is_usual else _part(check, numbers, what))
    if not all(parts):
        code = refusal_code()
        for part in parts:
            if part.allowed:
                part.outcome = "other"
            else:
                part.id = code
    return Decision.of(parts)


def _usual(check: Check, reply: Sequence[int]) -> Decision:
    """The same for one check that enforces and tells no verdict: in few steps, since nearly all are this."""
    windows: tuple[WindowAnswer, ...]
    if len(reply) == 4:
        window = check[1][0]
        remaining, wait_ms, reset_ms, charged_at_ms = reply
        windows = (WindowAnswer(window, remaining, wait_ms, reset_ms, charged_at_ms),)
    else:
        windows = _answers(check, reply)
        window, remaining, wait_ms, reset_ms, _ = _deciding(windows)
    limit, reset_s, rule, text = window.limit, reset_ms / 1000, check[0], window.text
    if not wait_ms:
        return Decision(True, limit, remaining, None, reset_s, rule, text, "", "enforce", False, "", "passed", windows, (), check)
    wait_s, reason = (wait_ms / 1000, "limit") if wait_ms > 0 else (None, "limit" if not limit else "cost")
    code, reset_s = refusal_code(), max(reset_s, wait_s or 0)
    return Decision(
        False, limit, remaining, wait_s, reset_s, rule, text, reason, "enforce", False, code, "refused", windows, (), check
    )


_codes = random.Random()  # anew after a fork: workers that went on from the same state would give the same codes
forks.after_fork(_codes.seed)


def refusal_code() -> str:
    """Five letters and digits that a person can read out over the telephone."""
    number = _codes.getrandbits(40)  # no secret; looked up in pairs, since a client that hammers gets a new one each time
    return _PAIRS[number % len(_PAIRS)] + _PAIRS[(number >> 12) % len(_PAIRS)] + _LETTERS[(number >> 24) % len(_LETTERS)]


def _answers(check: Check, reply: Sequence[int]) -> tuple[WindowAnswer, ...]:
    """Those of its windows, four numbers each."""
    numbers = iter(reply)
    return tuple(map(_answer, zip(check.windows, numbers, numbers, numbers, numbers)))  # noqa: B905


def _deciding(answers: tuple[WindowAnswer, ...]) -> WindowAnswer:
    """The one that a decision describes: with the longest wait, else with the least room."""
    told = answers[0]
    _, remaining, wait_ms, reset_ms, _ = told
    for answer in answers[1:]:
        _, room, wait, reset, _ = answer
        if wait_ms or wait:
            if wait and (not wait_ms or _longer(wait, wait_ms)):
                told, wait_ms = answer, wait
        elif room < remaining or (room == remaining and reset > reset_ms):
            told, remaining, reset_ms = answer, room, reset
    return told


def _part(check: Check, numbers: Sequence[int], what: What) -> Decision:
    verdict, lock_wait_ms = -1, 0
    if len(numbers) > 4 * len(check.windows):
        verdict, lock_wait_ms, *numbers = numbers
    answers = _answers(check, numbers)
    window, remaining, wait_ms, reset_ms, _ = _deciding(answers)
    refuses = wait_ms != 0 if verdict < 0 else verdict > 0
    forced = refuses and what in ("force", "charge")
    reason = ""
    if refuses:
        reason = "limit" if wait_ms > 0 or (wait_ms < 0 and not window.limit) else "cost" if wait_ms < 0 else "penalty"
    if lock_wait_ms:
        remaining = 0
        if lock_wait_ms > wait_ms >= 0:
            wait_ms, reason = lock_wait_ms, "penalty" if refuses else ""
    mode, passed = "enforce" if check.enforce else "shadow", forced or not refuses
    return Decision(
        passed or not check.enforce,
        window.limit,
        remaining,
        wait_ms / 1000 if wait_ms > 0 and not forced else None,
        max(reset_ms, wait_ms) / 1000,
        check.rule,
        window.text,
        "" if forced else reason,
        mode,
        forced,
        "",
        "passed" if passed else "refused" if check.enforce else "would_refuse",
        answers,
        (),
        check,
    )


def _longer(wait_ms: int, than_ms: int) -> bool:
    """-1 is for ever."""
    return than_ms >= 0 and (wait_ms < 0 or wait_ms > than_ms)
