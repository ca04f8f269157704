"""A rate as code gives it: text, a pair of numbers, a function of the request, or the dotted path of one.

What is wrong with a text is told at import. A function is asked at each request, and what it does wrong must neither
break a page nor lift the limit: its last good rate holds.
"""

import inspect
import re
from collections.abc import Callable
from functools import cache
from typing import Any

from django.http import HttpRequest
from django.utils.module_loading import import_string

from ratewindow import site_functions
from ratewindow.limiter.rates import parse_rates
from ratewindow.rules import code_rates
from ratewindow.rules.rule import Rule

Pair = tuple[int, int]  # how many in how many seconds, as django-ratelimit has it, too
Rate = str | Pair | Callable[..., str | Pair | None]  # of the request, or as django-ratelimit calls it of (group, request)

_PATH = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)+")  # of a function: no rate begins with a letter
_LONGEST_TOLD = 80  # characters of a wrong rate in the log


class GivenRate:
    """The rate of one decorator, under each name that it stands for."""

    def __init__(self, rate: Rate | None, key: str, methods: frozenset[str], normalise: bool = False) -> None:
        self._key, self._methods, self._normalise = key, methods, normalise
        self._good: dict[str, Rule] = {}  # the last rule by each name
        self._function = _function_of(rate)
        self._rate = None if self._function is not None or rate is None else _text(rate)
        if self._rate is not None and not parse_rates(self._rate):
            raise ValueError(f"rate {rate!r} limits nothing: write for example 5/m")
        self.words = self._function or self._rate  # what is registered of it

    def rule(self, name: str, request: HttpRequest) -> Rule | None:
        """The rate as a rule of that name; None where code gives none, or a function says that none holds."""
        if self._function is None:
            return None if self._rate is None else code_rates.rule_of(name, self._rate, self._key, self._methods, self._normalise)
        try:
            told = self._function(name, request)
            rule = None if told is None else code_rates.rule_of(name, _text(told), self._key, self._methods, self._normalise)
            if rule is not None and not rule.windows:
                raise ValueError(f"{told!r} limits nothing: return None to mean that")
        except Exception as error:
            last = self._good.get(name)
            holds = f"its last good rate holds, {last.windows[0].text}" if last is not None else "requests pass"
            site_functions.failed("rate", name, error, holds, [name])
            return last
        if site_functions.failing:
            site_functions.worked("rate", name)
        if rule is not None:
            self._good[name] = rule
        return rule


def _function_of(rate: Rate | None) -> Callable[[str, HttpRequest], Any] | None:
    if isinstance(rate, str) and _PATH.fullmatch(rate):
        path = rate
        return lambda name, request: _imported(path)(name, request)
    if site_functions.is_async(rate):
        raise ValueError(f"{rate!r} is async, and a rate is asked for without waiting: give a plain function")
    return _called(rate) if callable(rate) else None


@cache
def _imported(path: str) -> Callable[[str, HttpRequest], Any]:
    """At the first request: the decorated view may itself be among what the function's module imports."""
    return _called(import_string(path))


def _called(function: Callable[..., Any]) -> Callable[[str, HttpRequest], Any]:
    """Called with the request, or as django-ratelimit does, with group and request, where it needs two."""
    try:
        required = [
            each
            for each in inspect.signature(function).parameters.values()
            if each.default is each.empty and each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)
        ]
    except (TypeError, ValueError):  # some built-in things have no signature
        required = []
    if len(required) == 2:
        return function
    return lambda name, request: function(request)


def _text(rate: Any) -> str:
    """A rate as text, also of a pair: ``"5/60s"`` of ``(5, 60)``. ValueError names what is neither."""
    if isinstance(rate, tuple) and len(rate) == 2 and all(type(each) is int for each in rate):
        return f"{rate[0]}/{rate[1]}s"
    if not isinstance(rate, str):
        raise ValueError(f"{ascii(rate)[:_LONGEST_TOLD]} is no rate: write text such as 5/m")
    return rate
