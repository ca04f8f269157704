"""Registry of the rates and rule names in code: what declarations, decorators, throttles and calls such as `hit` use, by name."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any, NamedTuple, Protocol

from ratewindow.identity import canonical
from ratewindow.limiter.problem import translatable
from ratewindow.limiter.rates import parse_rates
from ratewindow.rules.count_when import parse_count_when
from ratewindow.rules.rate_options import USUAL, Options
from ratewindow.rules.rule import Rule


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
    declared: "Declared | None" = field(default=None, compare=False)  # of a limit that code declares once for all its uses

    def __hash__(self) -> int:  # what calls are given is remembered by it
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


class Given(Protocol):
    """A rate in code as its uses know it."""

    @property
    def is_async(self) -> bool:
        """Whether it must be awaited."""

    @property
    def may_be_async(self) -> bool:
        """Whether it must, or a path leads to the function, which is imported at the first request or call."""

    def load(self) -> None:
        """Import what a path leads to, so that `is_async` is known. Raises ValueError if that is no function."""

    def rule(self, name: str, request: Any) -> Rule | None:
        """The rate as a rule of that name."""

    async def arule(self, name: str, request: Any) -> Rule | None:
        """`rule`, awaited."""


class Declared(NamedTuple):
    """What makes a use the declaration of its name, with the rate and key as they stand in the code."""

    given: Given
    rate: str
    key: str


SOME_METHOD = translatable("a method of a class")  # the place until the class is known
A_CALL = translatable("a call of ratewindow.hit")
MOST_BY_CALLS = 1000

_uses: dict[str, set[CodeRate]] = {}
_by_calls: deque[CodeRate] = deque()
last_of_calls: dict[str, Rule] = {}  # by name: the last valid rate of functions that calls give
_finders: list[Callable[[], None]] = []


def register(use: CodeRate) -> None:
    known = _uses.setdefault(use.name, set())
    known.add(use)
    if use.place != SOME_METHOD:
        known.discard(replace(use, place=SOME_METHOD, made_of=None))


def declare(use: CodeRate) -> None:
    """Register a limit that code declares. Raises ValueError if it contradicts another declaration of its name."""
    for other in [each for each in _uses.get(use.name, ()) if each.declared is not None]:
        if _meaning(other) != _meaning(use):
            said = f"{use.all_words} at {use.place}, and {other.all_words} at {other.place}"
            raise ValueError(f"the limit {use.name!r} is declared twice: {said}: use two names, or one declaration")
        if other.place == use.place:  # its module is imported again
            _uses[use.name].discard(other)
    register(use)


def _meaning(use: CodeRate) -> tuple[Any, ...]:
    """What a declaration says, however it is written."""
    assert use.declared is not None
    rate = use.limits if isinstance(use.rate, str) else use.declared.rate
    return rate, canonical(use.declared.key), use.methods, use.normalise, use.options


def register_call(use: CodeRate) -> None:
    """Register what a call such as `hit` gives, if nothing else gives the name a rate.

    At most `MOST_BY_CALLS` are kept, the newest, since a name may be made from a request."""
    if has_rate(use.name):
        return
    register(use)
    _by_calls.append(use)
    while len(_by_calls) > MOST_BY_CALLS:
        oldest = _by_calls.popleft()
        last_of_calls.pop(oldest.name, None)
        _uses.get(oldest.name, set()).discard(oldest)
        if not _uses.get(oldest.name):
            _uses.pop(oldest.name, None)


def add_finder(finder: Callable[[], None]) -> None:
    """Call `finder` before `names` returns: it registers the uses that only an inspection of the views finds."""
    _finders.append(finder)


def uses() -> dict[str, set[CodeRate]]:
    """Every registered use, by name."""
    return {name: set(each) for name, each in list(_uses.items())}


def rated(name: str) -> list[CodeRate]:
    """The uses that give the name a rate: declarations first, then views, then calls."""
    found = [use for use in tuple(_uses.get(name, ())) if use.rate is not None]
    return sorted(found, key=lambda use: (use.declared is None, use.place == A_CALL, use.place)) if len(found) > 1 else found


def declared(name: str) -> Given | None:
    """The rate of the limit that code declares under this name, or None."""
    uses = _uses.get(name)
    return next((use.declared.given for use in tuple(uses) if use.declared is not None), None) if uses else None


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
    for use in rated(name) if name in _uses else ():
        if use.rule is not None:
            return use.rule
    return None


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
