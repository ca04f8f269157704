"""The Lua scripts: found, joined from their files, and named by their digests."""

import hashlib
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from ratewindow.limiter.types import Check

_PLACE = "--@ALGORITHMS@\n"


class Script(NamedTuple):
    source: str
    sha: str


def script_for(name: str, checks: Iterable[Check]) -> Script:
    """``decide`` or ``refund`` with the algorithms of these checks: the server's time is not spent on the others."""
    return _join(name, frozenset([window.script for check in checks for window in check.windows]))


@cache
def _join(name: str, algorithms: frozenset[str]) -> Script:
    parts = "".join(_read(f"algorithms/{each}.lua") for each in sorted(algorithms))
    source = _read(f"{name}.lua").replace(_PLACE, parts)
    return Script(source, hashlib.sha1(source.encode(), usedforsecurity=False).hexdigest())


def _read(name: str) -> str:
    """A file of ``lua/``: of the installed package, or of the checkout that the package runs from."""
    package = files("ratewindow")
    packaged = package.joinpath("lua", name)
    return (packaged if packaged.is_file() else package.joinpath("..", "lua", name)).read_text("utf-8")
