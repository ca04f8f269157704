"""The throttles of views: `RuleThrottle` for rules by name, and REST framework's own classes, counting by our limiter.

A rule in the admin replaces a rate in code under the same name, as at a decorated view. A throttle's name is that of its
scope.
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.utils.functional import classproperty
from rest_framework import throttling
from rest_framework.request import Request
from rest_framework.settings import api_settings

from ratewindow.identity import address, custom_keys, request_attributes
from ratewindow.limiter.algorithms.sliding_log import SLIDING_LOG
from ratewindow.limiter.rates import parse_rates
from ratewindow.limiter.types import Decision, Window
from ratewindow.request.doors import name_of
from ratewindow.rest_framework import decide_together
from ratewindow.rulebook.current import Rulebook
from ratewindow.rules import code_rates, rate_options
from ratewindow.rules.rule import Rule, check_name

_LOG = rate_options.Options(algorithm="sliding_log")


class _Throttle(throttling.BaseThrottle):
    """The base of our throttles for REST framework. Subclasses give by ``rules(book, request, view)`` the rules that hold for a
    request, each with the client that the throttle identifies."""

    decides_together = True  # with the others of the view; code of the site's for the verdict may do what these must not cause
    decision: Decision | None = None  # of the last request

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.decides_together = not any(map(cls.has_own, ("allow_request", "throttle_success", "throttle_failure", "wait")))

    @classmethod
    def has_own(cls, name: str) -> bool:
        """Whether code of the site's takes the place of this method."""
        return getattr(cls, name, throttling.BaseThrottle.allow_request).__module__ not in (__name__, throttling.__name__)

    def allow_request(self, request: Request, view: Any) -> bool:
        """Whether the request may pass all throttles of the view that decide together with this one."""
        self.decision = decide_together.decide(self, request, view)
        return self.decision.allowed

    def wait(self) -> float | None:
        """Seconds until the request would be allowed; None when waiting does not help."""
        return self.decision.retry_after if self.decision is not None else None

    def get_ident(self, request: Request) -> str:
        """The client's address by TRUSTED_PROXIES, as for all other rules, not by NUM_PROXIES."""
        return address.client_address(request)


class RuleThrottle(_Throttle):
    """The rules that the view names, ``throttle_rules = ["export"]``, and those that a subclass names itself."""

    throttle_rules: Iterable[str] | str = ()

    def rules(self, book: Rulebook, request: Request, view: Any) -> Iterable[Rule]:
        rules: list[Rule] = []
        for name in self.names(view):
            code = None if book.alone else code_rates.in_code(name, request)
            rules += book.named(name, code, request.method, warn=not code_rates.rated(name))
        return rules

    @classmethod
    def names(cls, view: Any) -> list[str]:
        """The names of the rules, of the class's and the view's."""
        named = [*_listed(cls.throttle_rules), *_listed(getattr(view, "throttle_rules", ()))]
        return list(dict.fromkeys(_checked(name, "throttle_rules") for name in named))


class ClientKey(str):
    """The cache key of a client as REST framework writes it, which remembers the client. What code of the site's makes of it
    is plain text, so a client cannot send another one's."""

    client: str

    @classmethod
    def of(cls, throttle: "SimpleRateThrottle", client: str) -> "ClientKey":
        made = cls(throttle.cache_format % {"scope": throttle.scope, "ident": client.partition(":")[2]})
        made.client = client if throttle.cache_format == SimpleRateThrottle.cache_format else f"key:{made}"
        return made


class SimpleRateThrottle(_Throttle, throttling.SimpleRateThrottle):
    """A rate and a scope, which is the name of its rule. Subclasses say by `get_cache_key` what one client is; None lets pass.

    An `allow_request` of the site's that does not call this one counts in Django's cache, as REST framework's own.
    """

    scope: str | None = None
    lacks_rate = False  # a rate of None is meant, unless nobody has said one
    key: Any = None  # the cache key of the last request's client
    counts_per = "user_or_ip"  # for messages: what identifies clients here

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
        except ImproperlyConfigured:
            if not self.scope or self.scope in self.THROTTLE_RATES:
                raise
            self.rate, self.lacks_rate = None, True

    def parse_rate(self, rate: Any) -> tuple[int | None, Any]:
        """How many in how many seconds, of the first limit if the rate has several."""
        if rate is None:
            return None, None
        window = windows_of(rate, type(self).__name__)[0]
        seconds, rest_ms = divmod(window.period_ms, 1000)
        return window.limit, window.period_ms / 1000 if rest_ms else seconds

    def client(self, request: Request) -> str:
        """The user that REST framework has authenticated, or else the address."""
        logged_in = request_attributes.user(request)
        if logged_in is not None:
            return logged_in
        ident = self.get_ident(request)
        return f"ip:{ident}" if ident == address.client_address(request) else f"ident:{ident}"

    @property
    def rule_name(self) -> str:
        """The scope; of a class that has only a rate, a name made from its own."""
        return _checked(self.scope, "the scope") if self.scope else name_of(type(self))

    def rules(self, book: Rulebook, request: Request, view: Any) -> Iterable[Rule]:
        self.key = self.get_cache_key(request, view)
        if self.key is None:
            return []
        identity = self.key.client if isinstance(self.key, ClientKey) else f"key:{self.key}"
        name = self.rule_name
        code = self.code_rule(name)
        rules = book.named(name, None if book.alone else code, request.method, warn=self.rate is None and self.lacks_rate)
        return [rule.with_identity(identity) if rule is code or book.alone else rule for rule in rules]

    def code_rule(self, name: str) -> Rule | None:
        """The rate that holds now, as a rule, and known to be one; None without a rate. Code of the site's may have set the
        numbers, for this request alone."""
        if self.rate is None and self.lacks_rate:
            self._register(name, None, _LOG)
        if self.rate is None or self.num_requests is None or self.duration is None:
            return None
        is_text = not self.has_own("parse_rate") and (self.num_requests, self.duration) == self.parse_rate(self.rate)
        rate = self.rate if is_text else _rate_of(name, self.num_requests, self.duration)
        options = _options(rate)
        own = getattr(type(self), "rate", None) or self.THROTTLE_RATES.get(self.scope)
        self._register(name, rate if is_text and rate == own else type(self), options)
        return code_rates.rule_of(name, rate, self.counts_per, frozenset(), options=options)

    def _register(self, name: str, rate: Any, options: rate_options.Options) -> None:
        code_rates.register(
            code_rates.CodeRate(
                name, rate, self.counts_per, frozenset(), custom_keys.place_of(type(self)), shared=True, options=options
            )
        )

    def allow_request(self, request: Request, view: Any) -> bool:
        self.now, self.history = self.timer(), []  # which code of the site's may read and write, as with REST framework's own
        passes = super().allow_request(request, view)
        if self.key is None and not self.decides_together:
            return True
        return self.throttle_success() if passes else self.throttle_failure()

    def throttle_success(self) -> bool:
        """Called for each request that passes. The decision has counted it; an `allow_request` of the site's has not."""
        return True if self.decision is not None else super().throttle_success()

    def wait(self) -> float | None:
        by_cache = self.decision is None and hasattr(self, "now")
        return throttling.SimpleRateThrottle.wait(self) if by_cache else super().wait()


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

    get_cache_key = UserRateThrottle.get_cache_key

    def rules(self, book: Rulebook, request: Request, view: Any) -> Iterable[Rule]:
        is_taken = "scope" in vars(self)  # then code of the site's may have set another rate
        return super().rules(book, request, view) if (self.scope if is_taken else self.take_scope(view)) else []

    def take_scope(self, view: Any) -> bool:
        """Take the scope of the view, and its rate; whether it has one."""
        self.scope = getattr(view, self.scope_attr, None)
        if not self.scope:
            return False
        self.take_rate()
        self.num_requests, self.duration = self.parse_rate(self.rate)
        return True


def windows_of(rate: Any, place: str) -> tuple[Window, ...]:
    """The windows of a rate. Raises ImproperlyConfigured with the place of a bad one."""
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
    windows_of(rate, f"{name}: parse_rate gave {limit!r} in {duration_s!r} s")
    return rate


@lru_cache(maxsize=1024)
def _options(rate: str) -> rate_options.Options:
    """By a log, since REST framework keeps the time of each request, too; by buckets where a log cannot keep so many."""
    has_room = all(window.limit <= (SLIDING_LOG.most_limit or 0) for window in parse_rates(rate))
    return _LOG if has_room else rate_options.Options(algorithm="sliding_window")
