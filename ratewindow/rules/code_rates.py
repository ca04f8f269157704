"""Registry of the rates and rule names in code: what decorators, throttles and calls such as `hit` use, by name."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, Unpack

from ratewindow.limiter.problem import translatable
from ratewindow.limiter.rates import parse_rates
from ratewindow.rules.count_when import parse_count_when
from ratewindow.rules.rate_options import USUAL, CallOptions, Options, parse_options
from ratewindow.rules.rule import Rule, check_name


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
    made_of: int | None = None  # the id of the view from which the name was made, if code gives no name
    options: Options = USUAL

    def __hash__(self) -> int:  # each call such as `hit` looks for its own
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.name, self.rate, self.key, self.methods, self.place, self.options))

    @property
    def words(self) -> str:
        """The rate, for people."""
        return "a rate by a function" if callable(self.rate) else self.rate or ""

    @property
    def limits(self) -> Any:
        """What the rate limits, however it is written; of a function nothing but that it is one."""
        return frozenset(parse_rates(self.rate)) if isinstance(self.rate, str) else self.words

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
_finders: list[Callable[[], None]] = []


def register(use: CodeRate) -> None:
    known = _uses.setdefault(use.name, set())
    known.add(use)
    if use.place != SOME_METHOD:
        known.discard(replace(use, place=SOME_METHOD, made_of=None))


def register_call(name: str, rate: str, **options: Unpack[CallOptions]) -> None:
    """Register the rate of a call such as `hit`. Raises ValueError if it is invalid, or if the name has another rate.

    At most `MOST_BY_CALLS` are kept, the newest, since a name may be made from a request."""
    try:
        use = _given(name, rate, **options)
    except TypeError:  # a value that cannot be remembered
        use = _given.__wrapped__(name, rate, **options)
    if use in _uses.get(name, ()):
        return
    others = [each for each in tuple(_uses.get(name, ())) if each.rate is not None]
    if any(each.limits != use.limits or each.options != use.options for each in others):
        words = ", ".join(sorted(f"{_said(each)} ({each.place})" for each in others))
        raise ValueError(f"code gives rule {name!r} two rates, {_said(use)} and {words}: use two names, or one rate")
    if others:
        return  # a view has the same rate
    register(use)
    _by_calls.append(use)
    while len(_by_calls) > MOST_BY_CALLS:
        oldest = _by_calls.popleft()
        _uses.get(oldest.name, set()).discard(oldest)
        if not _uses.get(oldest.name):
            _uses.pop(oldest.name, None)


@lru_cache(maxsize=4096, typed=True)
def _given(name: str, rate: str, **options: Any) -> CodeRate:
    check_name(name)
    if not isinstance(rate, str) or not parse_rates(rate):
        raise ValueError(f"rate {rate!r} limits nothing: write text such as 5/m")
    made = parse_options(options, "hit()", CallOptions)
    made.windows(rate)
    return CodeRate(name, rate, "ip", frozenset(), A_CALL, options=made)


def _said(use: CodeRate) -> str:
    return ", ".join(filter(None, (use.words, use.options.words)))


def add_finder(finder: Callable[[], None]) -> None:
    """Call `finder` before `names` returns: it registers the uses that only an inspection of the views finds."""
    _finders.append(finder)


def uses() -> dict[str, set[CodeRate]]:
    """Every registered use, by name."""
    return {name: set(each) for name, each in list(_uses.items())}


def is_used(name: str) -> bool:
    """Whether code uses this name."""
    return name in _uses


def has_rate(name: str) -> bool:
    """Whether code gives a rate under this name."""
    return any(use.rate is not None for use in tuple(_uses.get(name, ())))


def enforces(name: str) -> bool:
    """Whether code enforces a rate under this name: a row in shadow counts beside it."""
    return any(use.rate is not None and use.options.mode == "enforce" for use in tuple(_uses.get(name, ())))


def rule(name: str) -> Rule | None:
    """The rate that code gives under this name, as a rule; None without one, or if a function returns it."""
    return next((use.rule for use in tuple(_uses.get(name, ())) if use.rule is not None), None)


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
        count_refused=options.count_refused,
        penalty_ms=options.penalty_ms,
        on_error=options.on_error,
        response_status=options.status,
        message=options.message,
        lease=options.lease,
    )


def names() -> set[str]:
    """The names under which code gives a rate; imports the URLconf first, so that decorated views are registered."""
    from django.urls import get_resolver

    _ = get_resolver().url_patterns
    for finder in _finders:
        finder()
    return {name for name, each in list(_uses.items()) if any(use.rate is not None for use in list(each))}
