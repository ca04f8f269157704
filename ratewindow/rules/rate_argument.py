"""The ``rate`` argument of decorators: text, a pair of numbers, a function of the request, or the dotted path of one.

An invalid text raises at import. A function is called for each request; if it fails, its last valid rate holds, so that
it neither breaks a page nor lifts the limit.
"""

import inspect
import re
from collections.abc import Callable
from functools import cache
from typing import Any

from django.http import HttpRequest
from django.utils.module_loading import import_string

from ratewindow.conf import site_functions
from ratewindow.limiter.rates import parse_rates
from ratewindow.rules import code_rates
from ratewindow.rules.rule import Rule

Pair = tuple[int, int]  # limit and seconds, as in django-ratelimit
Rate = str | Pair | Callable[..., str | Pair | None]  # a function of (request), or of (group, request) as in django-ratelimit

_PATH = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)+")  # of a function: no rate begins with a letter
_LONGEST_SHOWN = 80  # characters of an invalid rate in the log


class GivenRate:
    """The rate of one decorator, which may have several names."""

    def __init__(self, rate: Rate | None, key: str, methods: frozenset[str], normalise: bool = False) -> None:
        self._key, self._methods, self._normalise = key, methods, normalise
        self._last: dict[str, Rule] = {}  # the last valid rate of the function, as a rule, by name
        self._function = _function_of(rate)
        self._rate = None if self._function is not None or rate is None else _text(rate)
        if self._rate is not None and not parse_rates(self._rate):
            raise ValueError(f"rate {rate!r} limits nothing: write for example 5/m")
        self.registered = self._function or self._rate

    def rule(self, name: str, request: HttpRequest) -> Rule | None:
        """The rate as a rule of that name; None if there is no rate, or if the function returns None."""
        if self._function is None:
            return None if self._rate is None else code_rates.rule_of(name, self._rate, self._key, self._methods, self._normalise)
        try:
            rate = self._function(name, request)
            rule = None if rate is None else code_rates.rule_of(name, _text(rate), self._key, self._methods, self._normalise)
            if rule is not None and not rule.windows:
                raise ValueError(f"{rate!r} limits nothing: return None to mean that")
        except Exception as error:
            last = self._last.get(name)
            holds = f"its last valid rate holds, {last.windows[0].text}" if last is not None else "requests pass"
            site_functions.failed("rate", name, error, holds, [name])
            return last
        if site_functions.failing:
            site_functions.worked("rate", name)
        if rule is not None:
            self._last[name] = rule
        return rule


def _function_of(rate: Rate | None) -> Callable[[str, HttpRequest], Any] | None:
    if isinstance(rate, str) and _PATH.fullmatch(rate):
        path = rate
        return lambda name, request: _imported(path)(name, request)
    if site_functions.is_async(rate):
        raise ValueError(f"{rate!r} is async, and rates are called without await: give a plain function")
    return _called(rate) if callable(rate) else None


@cache
def _imported(path: str) -> Callable[[str, HttpRequest], Any]:
    """The function at a dotted path, imported at the first request: its module may import the decorated view."""
    return _called(import_string(path))


def _called(function: Callable[..., Any]) -> Callable[[str, HttpRequest], Any]:
    """A function of (name, request) that calls `function` with the request, or with both if it needs two arguments."""
    try:
        required = [
            each
            for each in inspect.signature(function).parameters.values()
            if each.default is each.empty and each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)
        ]
    except (TypeError, ValueError):  # some built-in callables have no signature
        required = []
    if len(required) == 2:
        return function
    return lambda name, request: function(request)


def _text(rate: Any) -> str:
    """A rate as text: ``"5/60s"`` for the pair ``(5, 60)``. Raises ValueError."""
    if isinstance(rate, tuple) and len(rate) == 2 and all(type(each) is int for each in rate):
        return f"{rate[0]}/{rate[1]}s"
    if not isinstance(rate, str):
        raise ValueError(f"{ascii(rate)[:_LONGEST_SHOWN]} is not a rate: write text such as 5/m")
    return rate
