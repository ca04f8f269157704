"""Registry of the rates and rule names in code: what decorators, throttles and calls such as `hit` use, by name."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from ratewindow.limiter.rates import parse_rates
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

    @property
    def words(self) -> str:
        """The rate, for people."""
        return "a rate by a function" if callable(self.rate) else self.rate or ""


SOME_METHOD = "a method of a class"  # the place until the class is known
MOST_BY_CALLS = 1000

_uses: dict[str, set[CodeRate]] = {}
_by_calls: deque[CodeRate] = deque()
_finders: list[Callable[[], None]] = []


def register(use: CodeRate) -> None:
    known = _uses.setdefault(use.name, set())
    known.add(use)
    if use.place != SOME_METHOD:
        known.discard(replace(use, place=SOME_METHOD, made_of=None))


def register_call(name: str, rate: str) -> None:
    """Register the rate of a call such as `hit`. Raises ValueError if it is invalid, or if the name has another rate.

    At most `MOST_BY_CALLS` are kept, the newest, since a name may be made from a request."""
    use = _given(name, rate)
    if use in _uses.get(name, ()):
        return
    others = [each for each in tuple(_uses.get(name, ())) if each.rate is not None]
    if any(not isinstance(each.rate, str) or parse_rates(each.rate) != parse_rates(rate) for each in others):
        words = ", ".join(sorted(f"{each.words} ({each.place})" for each in others))
        raise ValueError(f"code gives rule {name!r} two rates, {rate} and {words}: use two names, or one rate")
    if others:
        return  # a view has the same rate
    register(use)
    _by_calls.append(use)
    while len(_by_calls) > MOST_BY_CALLS:
        oldest = _by_calls.popleft()
        _uses.get(oldest.name, set()).discard(oldest)
        if not _uses.get(oldest.name):
            _uses.pop(oldest.name, None)


@lru_cache(maxsize=4096)
def _given(name: str, rate: str) -> CodeRate:
    check_name(name)
    if not isinstance(rate, str) or not parse_rates(rate):
        raise ValueError(f"rate {rate!r} limits nothing: write text such as 5/m")
    return CodeRate(name, rate, "ip", frozenset(), "a call of ratewindow.hit")


def add_finder(finder: Callable[[], None]) -> None:
    """Call `finder` before `names` returns: it registers the uses that only an inspection of the views finds."""
    _finders.append(finder)


def uses() -> dict[str, set[CodeRate]]:
    """Every registered use, by name."""
    return {name: set(each) for name, each in list(_uses.items())}


def has_rate(name: str) -> bool:
    """Whether code gives a rate under this name."""
    return any(use.rate is not None for use in tuple(_uses.get(name, ())))


def rule(name: str) -> Rule | None:
    """The rate that code gives under this name, as a rule; None without one, or if a function returns it."""
    for use in tuple(_uses.get(name, ())):
        if isinstance(use.rate, str):
            return rule_of(name, use.rate, use.key, use.methods, use.normalise)
    return None


@lru_cache(maxsize=4096)
def rule_of(name: str, rate: str, key: str, methods: frozenset[str], normalise: bool = False) -> Rule:
    """A rate in code as a rule."""
    return Rule(name, parse_rates(rate), key=key, methods=methods, normalise=normalise)


def names() -> set[str]:
    """The names under which code gives a rate; imports the URLconf first, so that decorated views are registered."""
    from django.urls import get_resolver

    _ = get_resolver().url_patterns
    for finder in _finders:
        finder()
    return {name for name, each in list(_uses.items()) if any(use.rate is not None for use in list(each))}
