"""The algorithms, by name. A new one is a module here, a Lua file, and its name in `_NAMES`."""

from functools import cache
from importlib import import_module

from ratewindow.limiter.algorithms.base import Algorithm
from ratewindow.limiter.problem import Problem

_NAMES = ("sliding_window", "sliding_log", "sliding_estimate", "fixed_window", "token_bucket", "leaky_bucket")


@cache
def algorithm(name: str) -> Algorithm:
    """The algorithm of that name; ValueError lists the known ones."""
    if name not in _NAMES:
        raise Problem("{name!r} is not an algorithm: choose from {names}", name=name, names=", ".join(_NAMES))
    chosen: Algorithm = import_module(f"{__name__}.{name}").ALGORITHM
    return chosen


def algorithm_choices() -> list[tuple[str, str]]:
    """Name and label of each, for forms."""
    return [(name, algorithm(name).label) for name in _NAMES]
