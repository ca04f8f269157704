"""Checks as a command for Redis: which script, made of which files of ``lua/``, with which words, and by whose clock. It is
the same for sync and async, and calls nobody."""

import hashlib
import time
from collections.abc import Callable, Iterable
from functools import cache, lru_cache, partial
from importlib.resources import files
from typing import Any, NamedTuple

from ratewindow.limiter.redis.faults import is_refusal, without_scripts
from ratewindow.limiter.reply import length
from ratewindow.limiter.types import Check, Flag, Refunds, TooManyWindows, What, bulk, check_number

Words = list[str | int]

_PLACE = "--@ALGORITHMS@\n"
SLACK_MS = 3_600_000  # how long states outlive a clock of the caller's that stands still
_EXPIRES = ("'PX', ", "'PEXPIRE', key, ")  # behind these the scripts say in how many milliseconds a key goes


class Script(NamedTuple):
    source: str
    sha: str
    packed_sha: bytes  # in the protocol of Redis


def script_for(name: str, checks: Iterable[Check], own_clock: bool = False) -> Script:
    """``decide`` or ``refund`` with what these checks need, and no more: making a function costs the server time.

    That is their algorithms, and of these the rare functions only to give units back or to count a refused request. With
    a clock of the caller's own, which the server's need not follow, every key stays `SLACK_MS` longer.
    """
    checks = list(checks)
    algorithms = frozenset(window.script for check in checks for window in check.windows)
    return _join(name, algorithms, name == "refund" or any(check.counts_refused for check in checks), own_clock)


@cache
def _join(name: str, algorithms: frozenset[str], rare: bool, own_clock: bool) -> Script:
    folders = ("algorithms", "rare") if rare else ("algorithms",)
    parts = "".join(_read(f"{folder}/{each}.lua") for each in sorted(algorithms) for folder in folders)
    source = _read(f"{name}.lua").replace(_PLACE, parts)
    for expires in _EXPIRES if own_clock else ():
        source = source.replace(expires, f"{expires}{SLACK_MS} + ")
    sha = hashlib.sha1(source.encode(), usedforsecurity=False).hexdigest()
    return Script(source, sha, bulk(sha))


def _read(name: str) -> str:
    """A file of ``lua/``: of the installed package, or of the checkout that the package runs from."""
    package = files("ratewindow")
    packaged = package.joinpath("lua", name)
    return (packaged if packaged.is_file() else package.joinpath("..", "lua", name)).read_text("utf-8")


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


class HostMs(int):
    """Milliseconds by this host's clock. It goes on as the server's does, so that keys may expire as ever."""


class ServerClock:
    """Whether a server lets scripts read its clock. Some do not (ElastiCache Serverless): there each host's own decides.

    The first script that is refused tells. It has charged nothing, since it reads the clock before all else.
    """

    PROBE = ("EVAL", "redis.call('TIME') return {1}", 0)

    def __init__(self) -> None:
        self.is_hosts = self.is_known = False

    def timed(self, call: Call) -> Call:
        """The call itself or, where the host's clock decides, the same at its time."""
        return call.at(HostMs(time.time_ns() // 1_000_000)) if self.is_hosts and call.at else call

    def may_be_refused(self, error: object) -> bool:
        """Whether an answer may mean that; as long as it is not known, `PROBE` finds out."""
        return is_refusal(error) and (self.is_hosts or not self.is_known)

    def learn(self, answer: Any) -> None:
        """From what the server answers to `PROBE`, or the error."""
        is_refused = is_refusal(answer) and without_scripts(answer) is None
        if is_refused or not isinstance(answer, Exception):
            self.is_known, self.is_hosts = True, is_refused


def packed(words: Words) -> bytes:
    """A command in the protocol of Redis."""
    return b"*%d\r\n%b" % (len(words), b"".join(map(bulk, words)))


def decide_call(checks: list[Check], what: What, now_ms: int | None) -> Call:
    """The call with the KEYS and ARGV that ``lua/decide.lua`` states. `packed_decide` writes the same in bytes: change both."""
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
    return what == "hit" and len(checks) == 1 and _head(checks[0]) == [16 + 1]


def _head(check: Check) -> Words:
    """A check's kind, whose bits ``lua/decide.lua`` explains, then its cost unless that is 1, then its penalty if it has one."""
    kind = 16 * len(check.windows) + (1 if check.enforce else 0) + (2 if check.counts_refused else 0)
    kind += (4 if check.penalty_ms else 0) + (8 if check.cost != 1 else 0)
    head: Words = [-kind if check.only_looks else kind]
    if check.cost != 1:
        head.append(check.cost)
    if penalty := check.penalty_ms:
        head.append(penalty if isinstance(penalty, int) else " ".join(map(str, (penalty.within_ms, *penalty.steps_ms))))
    return head


def packed_decide(checks: list[Check], what: What, now_ms: int | None) -> tuple[bytes, int] | None:
    """`decide_call` in the protocol of Redis, and how many numbers its reply has; None for a given time, and where the edges of
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
    behind, count = ([], 3) if is_usual else ([bulk(what)], 4)
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


def refund_call(refunds: Refunds, now_ms: int | None, flag: Flag | None = None) -> Call:
    """The call of ``lua/refund.lua``: of each check its cost, for the times its windows were charged at; and a key to set."""
    keys: Words = []
    arguments: Words = ["" if now_ms is None else now_ms]
    about_ms = time.time_ns() // 1_000_000 if now_ms is None else now_ms
    for check, times in refunds:
        keys += check.keys
        for window, charged_at_ms in zip(check.windows, times, strict=True):
            arguments += (*window.arguments(about_ms), check.cost, "" if charged_at_ms is None else charged_at_ms)
    if flag is not None:
        keys, arguments = [*keys, flag.key], [*arguments, flag.ms]
    parts = sum(len(check.windows) for check, _ in refunds)
    script = script_for("refund", [check for check, _ in refunds], _stands_still(now_ms))
    at = partial(refund_call, refunds, flag=flag) if now_ms is None else None
    return Call(script, [len(keys), *keys, *arguments], parts, at)
