"""The Lua script: found, joined from its files, and named by its digest."""

import hashlib
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from ratewindow.limiter.types import Check

_PLACE = "--@ALGORITHMS@\n"


class Script(NamedTuple):
    source: str
    sha: str


def script_for(checks: list[Check]) -> Script:
    """The script that knows the algorithms of these checks: a server's time is not spent on the others."""
    if len(checks) == 1 and len(checks[0].windows) == 1:
        return _join((checks[0].windows[0].algorithm,))
    return _join(tuple(sorted({window.algorithm for check in checks for window in check.windows})))


@cache
def _join(algorithms: tuple[str, ...]) -> Script:
    parts = "".join(_read(f"algorithms/{name}.lua") for name in algorithms)
    source = _read("decide.lua").replace(_PLACE, parts)
    return Script(source, hashlib.sha1(source.encode(), usedforsecurity=False).hexdigest())


def _read(name: str) -> str:
    """A file of ``lua/``: of the installed package, or of the checkout that the package runs from."""
    package = files("ratewindow")
    packaged = package.joinpath("lua", name)
    return (packaged if packaged.is_file() else package.joinpath("..", "lua", name)).read_text("utf-8")
