"""The throttles of views: `RuleThrottle` for rules by name, and REST framework's own classes, counting by our limiter.

A rule in the admin replaces a rate in code under the same name, as at a decorated view. A throttle's name is that of its
scope.
"""

from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property, lru_cache
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.utils.functional import classproperty
from rest_framework import throttling
from rest_framework.request import Request
from rest_framework.settings import api_settings
from rest_framework.throttling import BaseThrottle

from ratewindow.identity.address import client_address
from ratewindow.identity.request_attributes import user
from ratewindow.limiter.algorithms.sliding_log import ALGORITHM as LOG
from ratewindow.limiter.rates import parse_rates
from ratewindow.limiter.types import Decision, Window
from ratewindow.request.handlers import name_of
from ratewindow.rest_framework import decide_together
from ratewindow.rest_framework.history import CacheOfDecided, charged, is_counted, times
from ratewindow.rulebook.current import Rulebook
from ratewindow.rules import code_rates
from ratewindow.rules.code_rates import CodeRate
from ratewindow.rules.rate_argument import in_code
from ratewindow.rules.rate_options import OF_LIMITS, Options, ViewOptions, parse_options
from ratewindow.rules.rule import Rule, check_name

MOST_LOGGED = LOG.most_limit or 0
_VERDICT = ("allow_request", "throttle_success", "throttle_failure", "wait")


class _Throttle(BaseThrottle):
    """The base of our throttles for REST framework; subclasses give the rules."""

    _has_own_verdict = False
    decision: Decision | None = None  # of the last request
    now_ms: int | None = None  # when it is to be decided, by a clock of the site's own

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._has_own_verdict = any(cls.has_own(name) for name in _VERDICT)

    @classmethod
    def has_own(cls, name: str) -> bool:
        """Whether code of the site's takes the place of this method."""
        return getattr(cls, name, BaseThrottle.allow_request).__module__ not in (__name__, throttling.__name__)

    @property
    def decides_together(self) -> bool:
        """With the other throttles of the view, in one call. Code of the site's for the verdict may do what others must not
        cause."""
        return not self._has_own_verdict

    def rules(self, book: Rulebook, request: Request, view: Any) -> Iterable[Rule]:
        """The rules that hold for this request, each with the client that the throttle identifies."""
        raise NotImplementedError(f"{type(self).__name__} gives no rules: use RuleThrottle, or one of REST framework's names")

    def allow_request(self, request: Request, view: Any) -> bool:
        """Whether the request may pass all throttles of the view that decide together with this one."""
        self.decision = decide_together.decide(self, request, view)
        return self.decision.allowed

    def wait(self) -> float | None:
        """Seconds until the request would be allowed; None when waiting does not help."""
        return self.decision.retry_after if self.decision is not None else None

    def get_ident(self, request: Request) -> str:
        """The client's address by TRUSTED_PROXIES, as for all other rules, not by NUM_PROXIES."""
        return client_address(request)


class RuleThrottle(_Throttle):
    """The rules that the view names, ``throttle_rules = ["export"]``, and those that a subclass names itself."""

    throttle_rules: Iterable[str] | str = ()

    def rules(self, book: Rulebook, request: Request, view: Any) -> Iterable[Rule]:
        found = []
        for name in self.names(view):
            code = None if book.alone else in_code(name, request)
            found += book.named(name, code, request.method, warn=not code_rates.has_rate(name))
        return found

    @classmethod
    def names(cls, view: Any) -> list[str]:
        """The names of the rules, of the class's and the view's."""
        found = [*_listed(cls.throttle_rules), *_listed(getattr(view, "throttle_rules", ()))]
        for name in found:
            _checked(name, "throttle_rules")
        return list(dict.fromkeys(found))


class ClientKey(str):
    """The cache key of a client as REST framework writes it, which remembers the client. What code of the site's makes of it
    is plain text, so a client cannot send another one's."""

    client: str

    @classmethod
    def of(cls, throttle: "SimpleRateThrottle", client: str) -> "ClientKey":
        made = cls(throttle.cache_format % {"scope": throttle.scope, "ident": client.partition(":")[2]})
        made.client = client if throttle.cache_format == SimpleRateThrottle.cache_format else f"key:{made}"
        return made


class NoRate(ImproperlyConfigured):
    """A scope without a rate: a rule in the admin may have its name."""


class SimpleRateThrottle(_Throttle, throttling.SimpleRateThrottle):
    """A rate and a scope, which is the name of its rule. Subclasses say by `get_cache_key` what one client is.

    What REST framework's own class offers to subclasses is here, too: `timer`, `now`, `key`, `history` and `cache`. An
    `allow_request` of the site's that does not call this one counts in the cache, as there.
    """

    scope: str | None = None
    rate: Any
    num_requests: int | None
    duration: float | None
    lacks_rate = False  # a rate of None is meant, unless nobody has said one
    counts_per = "user_or_ip"  # for messages: what identifies clients here
    rate_options: ViewOptions = {}  # of the rate, as those of the decorator; a subclass that has others says all of them
    _options = Options(algorithm="sliding_log")  # REST framework keeps the time of each request, too
    _usual_timer = throttling.SimpleRateThrottle.timer  # for which the server's clock decides

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "rate_options" in vars(cls):
            try:
                cls._options = parse_options(cls.rate_options, "rate_options")
            except (TypeError, ValueError) as error:
                raise ImproperlyConfigured(f"{place_of(cls)}: {error}") from None
            if not cls._says_algorithm():
                cls._options = replace(cls._options, algorithm="sliding_log")

    @property
    def decides_together(self) -> bool:
        """As for all, and by the server's clock: one call has one time."""
        return super().decides_together and not self._has_own_timer

    @property
    def _has_own_timer(self) -> bool:
        return self.timer is not self._usual_timer

    @classmethod
    def _says_algorithm(cls) -> bool:
        return not cls.rate_options.keys().isdisjoint(OF_LIMITS)

    @classproperty
    def THROTTLE_RATES(cls) -> Any:  # noqa: N802, N805
        return api_settings.DEFAULT_THROTTLE_RATES or {}

    def __init__(self) -> None:
        if not getattr(self, "rate", None):
            self.take_rate()
        self.num_requests, self.duration = self.parse_rate(self.rate)

    def take_rate(self) -> None:
        """Take the rate of the scope; without one, the rule of its name alone holds."""
        try:
            self.rate, self.lacks_rate = self.get_rate(), False
        except NoRate:
            self.rate, self.lacks_rate = None, True

    def get_rate(self) -> Any:
        """The rate of the scope in DEFAULT_THROTTLE_RATES. Raises ImproperlyConfigured without one, as REST framework does."""
        if not self.scope:
            raise ImproperlyConfigured(f"{type(self).__name__} has neither a rate nor a scope: set one of them")
        try:
            return self.THROTTLE_RATES[self.scope]
        except KeyError:
            raise NoRate(f"the scope {self.scope!r} has no rate: add it to DEFAULT_THROTTLE_RATES") from None

    def parse_rate(self, rate: Any) -> tuple[int | None, Any]:
        """How many in how many seconds, of the first limit if the rate has several."""
        if rate is None:
            return None, None
        window = windows_of(rate, type(self).__name__)[0]
        seconds, rest_ms = divmod(window.period_ms, 1000)
        return window.limit, window.period_ms / 1000 if rest_ms else seconds

    def get_cache_key(self, request: Request, view: Any) -> Any:
        """What identifies this client under the scope; None lets the request pass."""
        raise NotImplementedError(f"{type(self).__name__} needs get_cache_key(request, view)")

    def client(self, request: Request) -> str:
        """The user that REST framework has authenticated, or else the address."""
        found = user(request)
        if found is not None:
            return found
        ident = self.get_ident(request)
        return f"ip:{ident}" if ident == client_address(request) else f"ident:{ident}"

    @property
    def rule_name(self) -> str:
        """The scope; of a class that has only a rate, a name made from its own."""
        return _checked(self.scope, "the scope") if self.scope else name_of(type(self))

    def rules(self, book: Rulebook, request: Request, view: Any) -> Iterable[Rule]:
        self._asked = request, view
        if self.key is None:
            return []
        identity = self.key.client if isinstance(self.key, ClientKey) else f"key:{self.key}"
        name = self.rule_name
        code = self.code_rule(name)
        found = book.named(name, None if book.alone else code, request.method, warn=self.rate is None and self.lacks_rate)
        return [rule.with_identity(identity) if rule is code or book.alone else rule for rule in found]

    def code_rule(self, name: str) -> Rule | None:
        """The rate that holds now, as a rule, and known to be one; None without a rate. Code of the site's may have set the
        numbers, for this request alone."""
        if self.rate is None and self.lacks_rate:
            self._register(name, None, self._options)
        if self.rate is None or self.num_requests is None or self.duration is None:
            return None
        limit, duration_s = self.num_requests, self.duration
        is_text = not self.has_own("parse_rate") and (limit, duration_s) == self.parse_rate(self.rate)
        rate = self.rate if is_text else _rate_of(name, limit, duration_s)
        options = self._options if self._says_algorithm() else _bounded(self._options, rate)
        own = getattr(type(self), "rate", None) or self.THROTTLE_RATES.get(self.scope)
        self._register(name, rate if is_text and rate == own else type(self), options)
        return code_rates.rule_of(name, rate, self.counts_per, frozenset(), options=options)

    def _register(self, name: str, rate: Any, options: Options) -> None:
        code_rates.register(
            CodeRate(name, rate, self.counts_per, frozenset(), place_of(type(self)), shared=True, options=options)
        )

    def allow_request(self, request: Request, view: Any) -> bool:
        for name in ("key", "history", "stored_history"):
            vars(self).pop(name, None)
        self._asked, self._counts = (request, view), False
        self.now = self.timer()
        self.now_ms = int(1000 * self.now) if self._has_own_timer else None
        allowed = super().allow_request(request, view)
        if not isinstance(self.cache, CacheOfDecided):
            self.cache: Any = CacheOfDecided(self.cache, self)
        if not self.decides_together and self.key is None:
            return True
        if not allowed:
            return self.throttle_failure()
        passes = self.throttle_success()
        if not self._counts:
            self._charge(-charged(self._part))
        return passes

    def throttle_success(self) -> bool:
        """Count the request. A subclass that does not call this, nor writes the history to the cache, counts it nowhere."""
        if self.decision is None:  # an `allow_request` of the site's has decided by its cache
            return super().throttle_success()
        if "stored_history" in vars(self):  # code of the site's has read it, without this request, and may have added some
            self.history.insert(0, self.now)
            self.write(self.history)
        self._counts = True
        return True

    def wait(self) -> float | None:
        """Seconds until the request would be allowed; where it was, or the cache has decided, as REST framework computes it."""
        refused = self.decision is not None and not self.decision.allowed
        if refused or not hasattr(self, "now") or getattr(self, "duration", None) is None:
            return super().wait()
        return throttling.SimpleRateThrottle.wait(self)

    @cached_property
    def key(self) -> Any:  # type: ignore[override]
        """The cache key of the last request's client."""
        return self.get_cache_key(*self._asked)

    @cached_property
    def history(self) -> list[Any]:  # type: ignore[override]
        """When the requests came that count, newest first, as far as the decision knows; this one once it counts."""
        return [*self.stored_history]

    @cached_property
    def stored_history(self) -> list[float]:
        """The history as the store has it; code of the site's may change what it reads."""
        if self.num_requests is None or self.duration is None:
            return []
        found = times(self._part, self.num_requests, self.duration, self.now)
        return found if self._counts else found[charged(self._part) :]

    @property
    def _part(self) -> Decision | None:
        """What this throttle's own rule has decided."""
        return next(iter(self._parts), None)

    @property
    def _parts(self) -> list[Decision]:
        """Those that it has decided, with a row in shadow beside it."""
        decisions = self.decision.decisions if self.decision is not None else ()
        return [part for part in decisions if part.rule == self.rule_name]

    def write(self, history: list[Any]) -> None:
        """Count what this history has, no more and no less: code of the site's has written it to the cache. The first that it
        adds is this request, which its decision counts."""
        counted = not self._counts and is_counted(self._part)
        self._charge(len(history) - len(self.stored_history) - counted)
        self.stored_history, self._counts = [*history], True

    def _charge(self, units: int) -> None:
        if units:
            decide_together.charge(self._parts, units, self._asked[0], self.now_ms)


class AnonRateThrottle(SimpleRateThrottle):
    """Limits clients that are not logged in, by address; users pass."""

    scope = "anon"
    counts_per = "ip"

    def get_cache_key(self, request: Request, view: Any) -> Any:
        client = self.client(request)
        return None if client.startswith("user:") else ClientKey.of(self, client)


class UserRateThrottle(SimpleRateThrottle):
    """Limits each user, and clients that are not logged in by address."""

    scope = "user"

    def get_cache_key(self, request: Request, view: Any) -> Any:
        return ClientKey.of(self, self.client(request))


class ScopedRateThrottle(SimpleRateThrottle):
    """Limits views by their `throttle_scope`, each user or address in each scope; a view without one passes."""

    scope_attr = "throttle_scope"

    def __init__(self) -> None:
        """The rate is the view's."""

    def allow_request(self, request: Request, view: Any) -> bool:
        return super().allow_request(request, view) if self.take_scope(view) else True

    def get_cache_key(self, request: Request, view: Any) -> Any:
        return ClientKey.of(self, self.client(request))

    def rules(self, book: Rulebook, request: Request, view: Any) -> Iterable[Rule]:
        is_called = "_asked" in vars(self)  # then it has taken the scope, and code of the site's may have set another rate
        return super().rules(book, request, view) if is_called or self.take_scope(view) else []

    def take_scope(self, view: Any) -> bool:
        """Take the scope of the view, and its rate; whether it has one."""
        self.scope = getattr(view, self.scope_attr, None)
        if not self.scope:
            return False
        self.take_rate()
        self.num_requests, self.duration = self.parse_rate(self.rate)
        return True


def windows_of(rate: str | None, place: str) -> tuple[Window, ...]:
    """The windows of a rate, none for None. Raises ImproperlyConfigured with the place of a bad one."""
    if rate is None:
        return ()
    try:
        windows = _parsed(rate) if isinstance(rate, str) else parse_rates(rate)
    except ValueError as error:
        raise ImproperlyConfigured(f"{place}: {error}") from None
    if not windows:
        raise ImproperlyConfigured(f"{place}: {rate!r} limits nothing: write for example 5/m, or None")
    return windows


_parsed = lru_cache(maxsize=1024)(parse_rates)  # each request makes its own throttles


def _listed(names: Iterable[str] | str) -> Iterable[str]:
    if not isinstance(names, Iterable):
        raise ImproperlyConfigured(f"throttle_rules: {names!r} is not a list of rules: write for example ['export'], or []")
    return (names,) if isinstance(names, str) else names


def _checked(name: Any, place: str) -> str:
    try:
        check_name(name)
    except ValueError as error:
        raise ImproperlyConfigured(f"{place}: {error}") from None
    return str(name)


@lru_cache(maxsize=1024)
def _rate_of(name: str, limit: int, duration_s: float) -> str:
    """The numbers that code of the site's gives, as a rate."""
    rate = f"{limit}/{round(duration_s * 1000)}ms"
    try:
        parse_rates(rate)
    except ValueError as error:
        raise ImproperlyConfigured(f"{name}: parse_rate gave {limit!r} in {duration_s!r} s: {error}") from None
    return rate


@lru_cache(maxsize=1024)
def _bounded(options: Options, rate: str) -> Options:
    """These options, or those by buckets where a log cannot keep so many."""
    most = max(window.limit for window in parse_rates(rate))
    return options if most <= MOST_LOGGED else replace(options, algorithm="sliding_window")


def place_of(throttle: type) -> str:
    return f"{throttle.__module__}.{throttle.__qualname__}"
