"""Checks as a command for Redis: pure, and the same for sync and async."""

import time
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, NamedTuple, get_args

from ratewindow.limiter.redis.scripts import Script, script_for
from ratewindow.limiter.redis.server_clock import HostMs
from ratewindow.limiter.reply import length
from ratewindow.limiter.types import Check, Refunds, TooManyWindows, What, bulk, check_number

Words = list[str | int]

_PACKED = {what: bulk(what) for what in get_args(What)}


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
        arguments = [what if now_ms is None else f"{what} {now_ms:013}"]  # by its length the script knows whether there is a time
        for check in checks:
            arguments += _head(check)
            for window in check.windows:
                arguments += window.arguments(about_ms)
    at = partial(decide_call, checks, what) if now_ms is None else None
    script = script_for("decide", checks, _stands_still(now_ms))
    return Call(script, [len(keys), *keys, *arguments], length(checks, what), at)


def _stands_still(now_ms: int | None) -> bool:
    """Whether it is by a clock which the server's need not follow."""
    return now_ms is not None and not isinstance(now_ms, HostMs)


def _keys(checks: list[Check]) -> list[str]:
    """Of each check its lock, if it has a penalty, then its windows."""
    return [key for check in checks for key in ((check.lock, *check.keys) if check.penalty_ms else check.keys)]


def _is_usual(checks: list[Check], what: What) -> bool:
    """Whether it is a hit of one window of one rule that enforces and nothing else: then only the window is sent."""
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


def packed_decide(checks: list[Check], what: What, now_ms: int | None) -> tuple[bytes, int] | None:
    """`decide_call` in the protocol of Redis, and how many numbers its reply has; None for a given time, and where the edges of
    a window depend on the time.

    What stands around the keys is the same for every client, and is remembered.
    """
    if now_ms is not None:
        return None
    if len(checks) == 1:
        _, windows, keys, cost, enforce, counts_refused, penalty_ms, lock, only_looks, _, _ = checks[0]
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
    before, behind, parts = around
    if len(keys) == 1:
        key = keys[0].encode()
        return b"%b$%d\r\n%b\r\n%b" % (before, len(key), key, behind), parts
    length = f"${len(keys[0])}\r\n"
    together = length + f"\r\n{length}".join(keys) + "\r\n"
    if together.isascii() and len(set(map(len, keys))) == 1:  # as the keys of one prefix are
        return before + together.encode() + behind, parts
    return b"".join([before, *map(bulk, keys), behind]), parts


@lru_cache(maxsize=1024)
def _around(what: What, *shapes: Any) -> tuple[bytes, bytes, int] | None:
    """What stands before the keys of some checks, and what behind. `shapes` has the fields of each `Check` but for its
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
    return before, b"".join(behind), length(checks, what)


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
