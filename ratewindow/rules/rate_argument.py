"""The ``rate`` argument of decorators: text, a pair of numbers, a function of the request, or the dotted path of one.

An invalid text raises at import. A function is called for each request; if it fails, its last valid rate holds, so that
it neither breaks a page nor lifts the limit. An async one is awaited for async views.
"""

import inspect
import re
from collections.abc import Awaitable, Callable
from functools import cache
from typing import Any

from django.http import HttpRequest
from django.utils.module_loading import import_string

from ratewindow.conf import site_functions
from ratewindow.rules import code_rates
from ratewindow.rules.rate_options import USUAL, Options
from ratewindow.rules.rule import Rule

Pair = tuple[int, int]  # limit and seconds, as in django-ratelimit
# A function of (request), or of (group, request) as in django-ratelimit.
Rate = str | Pair | Callable[..., str | Pair | None] | Callable[..., Awaitable[str | Pair | None]]

_PATH = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)+")  # of a function: no rate begins with a letter
_LONGEST_SHOWN = 80  # characters of an invalid rate in the log


class GivenRate:
    """The rate of one decorator, which may have several names."""

    def __init__(
        self, rate: Rate | None, key: str, methods: frozenset[str], normalise: bool = False, options: Options = USUAL
    ) -> None:
        self._of_rule = (key, methods, normalise, options)
        self._rules: dict[str, Rule] = {}  # by name: of a function its last valid rate
        self.is_async = site_functions.is_async(rate)
        self.may_be_async = self.is_async or _is_path(rate)  # what a path leads to is imported at the first request
        self._function = _function_of(rate)
        self._rate = None if self._function is not None or rate is None else _text(rate)
        if self._rate is not None and not options.windows(self._rate):
            raise ValueError(f"rate {rate!r} limits nothing: write for example 5/m")
        self.registered = self._function or self._rate

    def rule(self, name: str, request: HttpRequest) -> Rule | None:
        """The rate as a rule of that name; None if there is no rate, or if the function returns None."""
        if self._function is None:
            return self._rules.get(name) or self._of_text(name)
        try:
            return self._worked(name, _answered(self._function(name, request)))
        except Exception as error:
            return self._failed(name, error)

    async def arule(self, name: str, request: HttpRequest) -> Rule | None:
        """`rule`, with an async function awaited."""
        if self._function is None:
            return self.rule(name, request)
        try:
            returned = self._function(name, request)
            return self._worked(name, await returned if inspect.isawaitable(returned) else returned)
        except Exception as error:
            return self._failed(name, error)

    def _of_text(self, name: str) -> Rule | None:
        if self._rate is None:
            return None
        rule = self._rules[name] = code_rates.rule_of(name, self._rate, *self._of_rule)
        return rule

    def _worked(self, name: str, rate: Any) -> Rule | None:
        rule = None if rate is None else code_rates.rule_of(name, _text(rate), *self._of_rule)
        if rule is not None and not rule.windows:
            raise ValueError(f"{rate!r} limits nothing: return None to mean that")
        if site_functions.failing:
            site_functions.worked("rate", name)
        if rule is not None:
            self._rules[name] = rule
        return rule

    def _failed(self, name: str, error: Exception) -> Rule | None:
        last = self._rules.get(name)
        holds = f"its last valid rate holds, {last.windows[0].text}" if last is not None else "requests pass"
        site_functions.failed("rate", name, error, holds, [name])
        return last


def _answered(returned: Any) -> Any:
    """What a function has returned, unless it must be awaited, which only a view that is async can do."""
    if inspect.isawaitable(returned):
        if inspect.iscoroutine(returned):
            returned.close()
        raise ValueError("it is async, and the view is not: name a plain function")
    return returned


def _function_of(rate: Rate | None) -> Callable[[str, HttpRequest], Any] | None:
    if _is_path(rate):
        path = str(rate)
        return lambda name, request: _imported(path)(name, request)
    return _called(rate) if callable(rate) else None


def _is_path(rate: Rate | None) -> bool:
    return isinstance(rate, str) and bool(_PATH.fullmatch(rate))


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
