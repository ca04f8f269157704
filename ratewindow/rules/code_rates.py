"""Rates in code, by name: what declarations, decorators, throttles and calls such as `hit` give, and a registry of these.

A rate is text, a pair of numbers, or a function of the request. An invalid text raises at import. A function is called for
each request; if it fails, its last valid rate holds, so that it neither breaks a page nor lifts the limit. An async one is
awaited for async views and calls.
"""

import inspect
from collections import deque
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, update_wrapper
from types import FunctionType
from typing import Any

from django.http import HttpRequest

from ratewindow.conf import site_functions
from ratewindow.identity import Recipe, canonical, custom_keys, recipe, recipe_of
from ratewindow.limiter.penalties import parse_penalty
from ratewindow.limiter.problem import translatable
from ratewindow.limiter.rates import parse_rates
from ratewindow.rules.rate_options import USUAL, CallOptions, Options, parse_call
from ratewindow.rules.rule import Rule, check_name, parse_count_when


@dataclass(frozen=True)
class CodeRate:
    """One use of a name in code. `rate` is None if code only names a rule."""

    name: str
    rate: str | Callable[..., Any] | None
    key: str
    methods: frozenset[str]
    place: str  # module and function, for people
    normalise: bool = False
    shared: bool = False  # a throttle, whose scope other throttles may share
    options: Options = USUAL
    declared: "GivenRate | None" = field(default=None, compare=False)  # the rate of a limit that code declares for all its uses

    @property
    def words(self) -> str:
        """The rate, for people."""
        return "a rate by a function" if callable(self.rate) else self.rate or ""

    @property
    def limits(self) -> Any:
        """What the rate limits, however it is written; of a function where that is."""
        if callable(self.rate):
            return custom_keys.place_of(inspect.unwrap(self.rate))
        return self.rate and frozenset(parse_rates(self.rate))

    @property
    def meaning(self) -> tuple[Any, ...]:
        """What code says, however it is written."""
        key = custom_keys.known().get(self.key)
        of_key = canonical(self.key) if key is None else custom_keys.place_of(key.function)
        return self.limits, of_key, self.methods, self.normalise, self.options

    @property
    def all_words(self) -> str:
        """The rate with its options: ``5/m per ip, burst=20``."""
        more = [self.options.words, "normalise=True" if self.normalise else ""]
        return ", ".join([f"{self.words} per {self.key}", *filter(None, more)])

    @cached_property
    def rule(self) -> Rule | None:
        """The rate as a rule, unless a function gives it."""
        if not isinstance(self.rate, str):
            return None
        return rule_of(self.name, self.rate, self.key, self.methods, self.normalise, self.options)


SOME_METHOD = translatable("a method of a class")  # the place until the class is known
A_CALL = translatable("a call of ratewindow.hit")
MOST_BY_CALLS = 1000

_uses: dict[str, set[CodeRate]] = {}
_by_calls: deque[CodeRate] = deque()
last_of_calls: dict[str, Rule] = {}  # by name: the last valid rate of functions that calls give
# Called before `load_names` returns: each registers the uses that only an inspection of the views finds.
finders: list[Callable[[], object]] = []


def register(use: CodeRate) -> None:
    known = _uses.setdefault(use.name, set())
    known.add(use)
    if use.place != SOME_METHOD:
        known.discard(replace(use, place=SOME_METHOD))


def declare(use: CodeRate) -> None:
    """Register a limit that code declares. Raises ValueError if it contradicts another declaration of its name."""
    for other in [other for other in _uses.get(use.name, ()) if other.declared is not None]:
        if other.meaning != use.meaning:
            said = f"{use.all_words} at {use.place}, and {other.all_words} at {other.place}"
            raise ValueError(f"the limit {use.name!r} is declared twice: {said}: use two names, or one declaration")
    register(use)


def register_call(use: CodeRate) -> None:
    """Register what a call such as `hit` gives. The newest `MOST_BY_CALLS` are kept, since a name may be made from a request."""
    register(use)
    _by_calls.append(use)
    while len(_by_calls) > MOST_BY_CALLS:
        oldest = _by_calls.popleft()
        last_of_calls.pop(oldest.name, None)
        _uses.get(oldest.name, set()).discard(oldest)
        if not _uses.get(oldest.name):
            _uses.pop(oldest.name, None)


def uses() -> dict[str, set[CodeRate]]:
    """Every registered use, by name."""
    return {name: set(each) for name, each in list(_uses.items())}


def rated(name: str) -> list[CodeRate]:
    """The uses that give the name a rate: declarations first, then views, then calls."""
    found = [use for use in tuple(_uses.get(name, ())) if use.rate is not None]
    return sorted(found, key=lambda use: (use.declared is None, use.place == A_CALL, use.place)) if len(found) > 1 else found


def declared(name: str) -> "GivenRate | None":
    """The rate of the limit that code declares under this name, or None."""
    return next((use.declared for use in tuple(_uses.get(name, ())) if use.declared is not None), None)


def is_used(name: str) -> bool:
    """Whether code uses this name."""
    return name in _uses


def enforces(name: str) -> bool:
    """Whether code enforces a rate under this name: a row in shadow counts beside it."""
    return any(use.rate is not None and use.options.mode == "enforce" for use in tuple(_uses.get(name, ())))


def rule(name: str) -> Rule | None:
    """The rate that code gives under this name, as a rule; None without one, or if a function returns it."""
    return next((use.rule for use in rated(name) if use.rule is not None), None)


@lru_cache(maxsize=4096)
def rule_of(name: str, rate: str, key: str, methods: frozenset[str], normalise: bool = False, options: Options = USUAL) -> Rule:
    """A rate in code as a rule. Raises ValueError."""
    return Rule(
        name,
        options.windows(rate),
        mode=options.mode,
        key=key,
        on_missing=options.on_missing,
        normalise=normalise,
        methods=methods,
        count_when=parse_count_when(options.count_when),
        hold=options.hold,
        forgive=options.forgive,
        count_refused=options.count_refused,
        penalty_ms=parse_penalty(options.penalty) if options.penalty else 0,
        on_error=options.on_error,
        response_status=options.status,
        message=options.message,
        soft=options.soft,
    )


def load_names() -> set[str]:
    """The names under which code gives a rate, once the URLconf is imported, so that decorated views are registered."""
    from django.urls import get_resolver

    _ = get_resolver().url_patterns
    for finder in finders:
        finder()
    return {name for name in list(_uses) if rated(name)}


Pair = tuple[int, int]  # limit and seconds, as in django-ratelimit
# A function of (request), or of (group, request) as in django-ratelimit.
Rate = str | Pair | Callable[..., str | Pair | None] | Callable[..., Awaitable[str | Pair | None]]


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
        self._is_async = site_functions.is_async(rate)
        self._function = _called(rate) if callable(rate) else None
        self.text = None if self._function is not None or rate is None else rate_text(rate)
        if self.text is not None and not options.windows(self.text):
            raise ValueError(f"rate {rate!r} limits nothing: write for example 5/m")
        self.registered = self._function or self.text

    @property
    def is_async(self) -> bool:
        return self._is_async

    def rule(self, name: str, request: Any) -> Rule | None:
        """The rate as a rule of that name; None if there is no rate, or if the function returns None. `request` is what the
        function is called with: of a call it may be an identity."""
        if self._function is None:
            return self._rules.get(name) or self._of_text(name)
        try:
            return self._by_own_key(self._worked(name, _answered(self._function(name, request))))
        except Exception as error:
            return self._by_own_key(self._failed(name, error))

    async def arule(self, name: str, request: Any) -> Rule | None:
        """`rule`, with an async function awaited."""
        if self._function is None:
            return self.rule(name, request)
        try:
            returned = self._function(name, request)
            return self._by_own_key(self._worked(name, await returned if inspect.isawaitable(returned) else returned))
        except Exception as error:
            return self._by_own_key(self._failed(name, error))

    def _of_text(self, name: str) -> Rule | None:
        if self.text is not None and (made := self._by_own_key(self._rule_of(name, self.text))):
            self._rules[name] = made
        return self._rules.get(name)

    def _rule_of(self, name: str, rate: str) -> Rule:
        return rule_of(name, rate, self.key, self.methods, self.normalise, self.options)

    def _by_own_key(self, rule: Rule | None) -> Rule | None:
        return rule if rule is None or self._recipe is None else rule.with_recipe(self._recipe)

    def _worked(self, name: str, rate: Any) -> Rule | None:
        if rate is None:
            return None
        made = self._rule_of(name, rate_text(rate))
        if not made.windows:
            raise ValueError(f"{rate!r} limits nothing: return None to mean that")
        self._rules[name] = made
        return made

    def _failed(self, name: str, error: Exception) -> Rule | None:
        last = self._rules.get(name) or rule(name)
        holds = f"the last valid rate of that name holds, {last.windows[0].text}" if last is not None else "requests pass"
        site_functions.failed("rate", name, error, holds, [name])
        return last


class DeclaredRate(GivenRate):
    """The rate of a view that gives only a name: that of the limit which code declares under it, perhaps later."""

    def __init__(self, name: str, key: str, methods: frozenset[str], normalise: bool) -> None:
        self._name = name
        super().__init__(None, key, methods, normalise)

    @property
    def is_async(self) -> bool:
        given = declared(self._name)
        return given is not None and given.is_async

    def rule(self, name: str, request: Any) -> Rule | None:
        given = declared(name)
        return None if given is None else given.rule(name, request)

    async def arule(self, name: str, request: Any) -> Rule | None:
        given = declared(name)
        return None if given is None else await given.arule(name, request)


def in_code(name: str, request: Any) -> Rule | None:
    """The rate that code gives under a name, for this request: of a declared limit it may be a function's."""
    given = declared(name)
    return rule(name) if given is None else given.rule(name, request)


def of_call(name: str, rate: Rate | None, key: custom_keys.Key | None, options: CallOptions) -> "GivenRate | None":
    """The rate of a call such as `hit`; of a call without one that of the limit that is declared under the name, if one is.

    Key and options that the call does not give are as other code has them under that name. Raises ValueError."""
    if name.__class__ is not str:
        check_name(name)
    if rate is None:
        if key is not None or options:
            raise ValueError(
                f"{next(iter(options), 'key')} belongs to a rate in code: give a rate, or set it at the rule in the admin"
            )
        return declared(name)
    uses = rated(name)
    other = uses[0] if uses and uses[0].place != A_CALL else None
    is_lasting = _is_lasting(rate) and _is_lasting(key) and all(isinstance(each, Hashable) for each in options.values())
    made = _made if is_lasting else _made.__wrapped__
    given = made(name, rate, key, other, **options)
    if not uses:
        # Any function says that one gives the rate.
        register_call(CodeRate(name, given.text or GivenRate.rule, given.key, frozenset(), A_CALL, options=given.options))
    return given


@lru_cache(maxsize=4096, typed=True)
def _made(name: str, rate: Rate, key: custom_keys.Key | None, other: CodeRate | None, /, **options: Any) -> GivenRate:
    """`other` has what the call does not say."""
    check_name(name)
    usual = CodeRate(name, None, "ip", frozenset(), A_CALL) if other is None else other
    of_rate = parse_call(options, usual.options, rate)
    own = recipe_of(custom_keys.of_call(key, name), usual.normalise) if callable(key) else None
    text = own.text if own is not None else usual.key if key is None else custom_keys.registered(key, name)
    recipe(text, usual.normalise)
    last = last_of_calls if callable(rate) else None
    return GivenRate(rate, text, usual.methods, usual.normalise, of_rate, last, own)


def _is_lasting(argument: Rate | custom_keys.Key | None) -> bool:
    """Whether other calls give the same: each may make its own function, or bind a method to an object of its own."""
    is_function = isinstance(argument, FunctionType) and "<" not in argument.__qualname__
    return argument is None or isinstance(argument, str | tuple) or is_function


def _answered(returned: Any) -> Any:
    """What a function has returned, unless it must be awaited, which only a view that is async can do."""
    if inspect.isawaitable(returned):
        if inspect.iscoroutine(returned):
            returned.close()
        raise ValueError("it is async, and the view is not: name a plain function")
    return returned


def _called(function: Callable[..., Any]) -> Callable[[str, HttpRequest], Any]:
    """A function of (name, request) that calls `function` with the request, or with both if it needs two arguments."""
    if custom_keys.arguments_of(function) == 2:
        return function
    return update_wrapper(lambda name, request: function(request), function)  # which is known by its place


def rate_text(rate: Any) -> str:
    """A rate as text: ``"5/60s"`` for the pair ``(5, 60)``. Raises ValueError."""
    if isinstance(rate, tuple) and len(rate) == 2 and all(type(each) is int for each in rate):
        return f"{rate[0]}/{rate[1]}s"
    if not isinstance(rate, str):
        raise ValueError(f"{rate!a:.80} is not a rate: write text such as 5/m")
    return rate
