"""The Lua scripts: found, joined from their files, and named by their digests."""

import hashlib
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from ratewindow.limiter.types import Check, bulk

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
    algorithms, rare = set(), name == "refund"
    for check in checks:
        rare = rare or check.counts_refused
        for window in check.windows:
            algorithms.add(window.script)
    return _join(name, frozenset(algorithms), rare, own_clock)


@cache
def alone(name: str) -> Script:
    """A script that needs no algorithm."""
    return _script(_read(f"{name}.lua"))


@cache
def _join(name: str, algorithms: frozenset[str], rare: bool, own_clock: bool) -> Script:
    folders = ("algorithms", "rare") if rare else ("algorithms",)
    parts = "".join(_read(f"{folder}/{each}.lua") for each in sorted(algorithms) for folder in folders)
    source = _read(f"{name}.lua").replace(_PLACE, parts)
    for expires in _EXPIRES if own_clock else ():
        source = source.replace(expires, f"{expires}{SLACK_MS} + ")
    return _script(source)


def _script(source: str) -> Script:
    sha = hashlib.sha1(source.encode(), usedforsecurity=False).hexdigest()
    return Script(source, sha, bulk(sha))


def _read(name: str) -> str:
    """A file of ``lua/``: of the installed package, or of the checkout that the package runs from."""
    package = files("ratewindow")
    packaged = package.joinpath("lua", name)
    return (packaged if packaged.is_file() else package.joinpath("..", "lua", name)).read_text("utf-8")
