"""The ``rate`` argument of decorators, declarations and calls: text, a pair of numbers, a function of the request, or the
dotted path of one.

An invalid text raises at import. A function is called for each request; if it fails, its last valid rate holds, so that
it neither breaks a page nor lifts the limit. An async one is awaited for async views and calls.
"""

import inspect
import re
from collections.abc import Awaitable, Callable
from functools import lru_cache
from types import FunctionType
from typing import Any, cast

from django.http import HttpRequest
from django.utils.module_loading import import_string

from ratewindow.conf import site_functions
from ratewindow.identity import Recipe, key_argument, recipe, recipe_of
from ratewindow.identity.key_argument import Key
from ratewindow.rules import code_rates
from ratewindow.rules.code_rates import A_CALL, CodeRate, Given
from ratewindow.rules.rate_options import USUAL, CallOptions, Options, parse_call
from ratewindow.rules.rule import Rule, check_name

Pair = tuple[int, int]  # limit and seconds, as in django-ratelimit
# A function of (request), or of (group, request) as in django-ratelimit.
Rate = str | Pair | Callable[..., str | Pair | None] | Callable[..., Awaitable[str | Pair | None]]

_PATH = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)+")  # of a function: no rate begins with a letter
_LONGEST_SHOWN = 80  # characters of an invalid rate in the log


class GivenRate:
    """The rate of one decorator, which may have several names, or of one declaration or call."""

    def __init__(
        self,
        rate: Rate | None,
        key: str,
        methods: frozenset[str] = frozenset(),
        normalise: bool = False,
        options: Options = USUAL,
        last: dict[str, Rule] | None = None,
        recipe: Recipe | None = None,
    ) -> None:
        self.key, self.methods, self.normalise, self.options = key, methods, normalise, options
        self._rules = {} if last is None else last  # by name: of a function its last valid rate
        self._recipe = recipe  # of a key that is made for one call
        self.is_async = site_functions.is_async(rate)
        self._path = str(rate) if _is_path(rate) else ""  # until its function is imported
        self._function = self._of_path if self._path else _called(rate) if callable(rate) else None
        self.text = None if self._function is not None or rate is None else _text(rate)
        if self.text is not None and not options.windows(self.text):
            raise ValueError(f"rate {rate!r} limits nothing: write for example 5/m")
        self.registered = self._function or self.text

    @property
    def may_be_async(self) -> bool:
        return self.is_async or bool(self._path)

    def load(self) -> None:
        if path := self._path:
            function = _imported(path)
            self.is_async, self._function, self._path = site_functions.is_async(function), _called(function), ""

    def rule(self, name: str, request: Any) -> Rule | None:
        """The rate as a rule of that name; None if there is no rate, or if the function returns None. `request` is what the
        function is called with: of a call it may be an identity."""
        if self._function is None:
            return self._rules.get(name) or self._of_text(name)
        try:
            rule = self._worked(name, _answered(self._function(name, request)))
        except Exception as error:
            rule = self._failed(name, error)
        return None if rule is None else self._by_own_key(rule)

    async def arule(self, name: str, request: Any) -> Rule | None:
        """`rule`, with an async function awaited."""
        if self._function is None:
            return self.rule(name, request)
        try:
            returned = self._function(name, request)
            rule = self._worked(name, await returned if inspect.isawaitable(returned) else returned)
        except Exception as error:
            rule = self._failed(name, error)
        return None if rule is None else self._by_own_key(rule)

    def _of_path(self, name: str, request: Any) -> Any:
        """What the function at the path returns. It is imported at the first request: its module may import the view."""
        self.load()
        assert self._function is not None
        return self._function(name, request)

    def _of_text(self, name: str) -> Rule | None:
        if self.text is None:
            return None
        rule = self._by_own_key(self._rule_of(name, self.text))
        self._rules[name] = rule
        return rule

    def _rule_of(self, name: str, rate: str) -> Rule:
        return code_rates.rule_of(name, rate, self.key, self.methods, self.normalise, self.options)

    def _by_own_key(self, rule: Rule) -> Rule:
        return rule if self._recipe is None else rule.with_recipe(self._recipe)

    def _worked(self, name: str, rate: Any) -> Rule | None:
        rule = None if rate is None else self._rule_of(name, _text(rate))
        if rule is not None and not rule.windows:
            raise ValueError(f"{rate!r} limits nothing: return None to mean that")
        if site_functions.failing:
            site_functions.worked("rate", name)
        if rule is not None:
            self._rules[name] = rule
        return rule

    def _failed(self, name: str, error: Exception) -> Rule | None:
        last, other = self._rules.get(name), code_rates.rule(name)
        if last is not None:
            holds = f"its last valid rate holds, {last.windows[0].text}"
        else:
            holds = f"the other rate of that name holds, {other.windows[0].text}" if other is not None else "requests pass"
        site_functions.failed("rate", name, error, holds, [name])
        return last or other


class DeclaredRate(GivenRate):
    """The rate of a view that gives only a name: that of the limit which code declares under it, perhaps later."""

    def __init__(self, name: str, key: str, methods: frozenset[str], normalise: bool) -> None:
        super().__init__(None, key, methods, normalise)
        self._name = name
        self.is_async = (declared := code_rates.declared(name)) is not None and declared.is_async

    @property
    def may_be_async(self) -> bool:
        return (declared := code_rates.declared(self._name)) is not None and declared.may_be_async

    def rule(self, name: str, request: Any) -> Rule | None:
        return None if (declared := code_rates.declared(name)) is None else declared.rule(name, request)

    async def arule(self, name: str, request: Any) -> Rule | None:
        return None if (declared := code_rates.declared(name)) is None else await declared.arule(name, request)


def in_code(name: str, request: Any) -> Rule | None:
    """The rate that code gives under a name, for this request: of a declared limit it may be a function's."""
    declared = code_rates.declared(name)
    return code_rates.rule(name) if declared is None else declared.rule(name, request)


def of_call(name: str, rate: Rate | None, key: Key | None, options: CallOptions) -> Given | None:
    """The rate of a call such as `hit`; of a call without one that of the limit that is declared under the name, if one is.

    Key and options that the call does not give are as other code has them under that name. Raises ValueError, also for a path
    that leads to no function."""
    if name.__class__ is not str:
        check_name(name)
    if rate is None:
        if key is not None or options:
            word = next(iter(options), "key")
            raise ValueError(f"{word} belongs to a rate in code: give a rate, or set it at the rule in the admin")
        declared = code_rates.declared(name)
        if declared is not None:
            declared.load()
        return declared
    uses = code_rates.rated(name)
    other = uses[0] if uses and uses[0].place != A_CALL else None
    made = _made if _is_lasting(rate) and _is_lasting(key) else _made.__wrapped__
    try:
        given = made(name, rate, key, other, **options)
    except TypeError:  # a value that cannot be remembered
        given = _made.__wrapped__(name, rate, key, other, **options)
    if not uses:
        known_as = given.text or GivenRate.rule  # any function says that one gives the rate
        code_rates.register_call(CodeRate(name, known_as, given.key, frozenset(), A_CALL, options=given.options))
    return given


@lru_cache(maxsize=4096, typed=True)
def _made(name: str, rate: Rate, key: Key | None, other: CodeRate | None, /, **options: Any) -> GivenRate:
    """`other` has what the call does not say."""
    check_name(name)
    usual = CodeRate(name, None, "ip", frozenset(), A_CALL) if other is None else other
    of_rate = parse_call(options, usual.options)
    own = recipe_of(key_argument.of_call(key, name), usual.normalise) if callable(key) else None
    text = own.text if own is not None else usual.key if key is None else key_argument.as_text(key, name)
    recipe(text, usual.normalise)
    last = code_rates.last_of_calls if callable(rate) or _is_path(rate) else None
    given = GivenRate(rate, text, usual.methods, usual.normalise, of_rate, last, own)
    given.load()
    return given


def _is_lasting(argument: Rate | Key | None) -> bool:
    """Whether other calls give the same: each may make its own function, or bind a method to an object of its own."""
    return not callable(argument) or (isinstance(argument, FunctionType) and "<" not in argument.__qualname__)


def _answered(returned: Any) -> Any:
    """What a function has returned, unless it must be awaited, which only a view that is async can do."""
    if inspect.isawaitable(returned):
        if inspect.iscoroutine(returned):
            returned.close()
        raise ValueError("it is async, and the view is not: name a plain function")
    return returned


def _is_path(rate: Rate | None) -> bool:
    return isinstance(rate, str) and bool(_PATH.fullmatch(rate))


def _imported(path: str) -> Callable[..., Any]:
    """The function at a dotted path. Raises ValueError."""
    try:
        function: Any = import_string(path)
        problem = "" if callable(function) else f"it is {type(function).__name__}"
    except Exception as error:  # importing a module may raise anything
        problem = str(error) or type(error).__name__
    if problem:
        raise ValueError(f"rate {path!r}: {problem}: write text such as 5/m, or the path of a function")
    return cast("Callable[..., Any]", function)


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
