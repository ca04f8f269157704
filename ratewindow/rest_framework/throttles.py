"""The throttles of views: `RuleThrottle` for rules by name, and REST framework's own classes, counting by our limiter.

A rule in the admin replaces a rate in code under the same name, as at a decorated view. A throttle's name is that of its
scope.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.utils.functional import classproperty
from rest_framework.request import Request
from rest_framework.settings import api_settings
from rest_framework.throttling import BaseThrottle

from ratewindow.identity.address import client_address
from ratewindow.identity.request_attributes import user
from ratewindow.limiter.rates import parse_rates
from ratewindow.limiter.types import Decision, Window
from ratewindow.request.handlers import name_of
from ratewindow.rest_framework import decide_together
from ratewindow.rulebook.current import Rulebook
from ratewindow.rules import code_rates
from ratewindow.rules.code_rates import CodeRate
from ratewindow.rules.rate_options import USUAL, Options, ViewOptions, parse_options
from ratewindow.rules.rule import Rule, check_name


class _Throttle(BaseThrottle):
    """The base of our throttles for REST framework; subclasses give the rules."""

    decides_together = True  # with the other throttles of the view, in one call
    decision: Decision | None = None  # of the last request

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.decides_together = cls.allow_request.__module__ == __name__  # one of the site's may exempt a request

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
            code = None if book.alone else code_rates.rule(name)
            found += book.named(name, code, request.method, warn=not code_rates.has_rate(name))
        return found

    @classmethod
    def names(cls, view: Any) -> list[str]:
        """The names of the rules, of the class's and the view's."""
        found = [*_listed(cls.throttle_rules), *_listed(getattr(view, "throttle_rules", ()))]
        for name in found:
            _checked(name, "throttle_rules")
        return list(dict.fromkeys(found))


class SimpleRateThrottle(_Throttle):
    """A rate and a scope, which is the name of its rule. Subclasses say by `get_cache_key` what one client is."""

    cache_format = "throttle_%(scope)s_%(ident)s"
    scope: str | None = None
    rate: str | None
    num_requests: int | None
    duration: float | None
    counts_per = "user_or_ip"  # for messages: what identifies clients here
    rate_options: ViewOptions = {}  # of the rate, as those of the decorator; a subclass that has others says all of them
    _options = USUAL

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "rate_options" in vars(cls):
            try:
                cls._options = parse_options(cls.rate_options, "rate_options")
            except (TypeError, ValueError) as error:
                raise ImproperlyConfigured(f"{place_of(cls)}: {error}") from None

    @classproperty
    def THROTTLE_RATES(cls) -> Mapping[str, Any]:  # noqa: N802, N805
        return api_settings.DEFAULT_THROTTLE_RATES or {}

    def __init__(self) -> None:
        if not getattr(self, "rate", None):
            self.rate = self.get_rate()
        self.num_requests, self.duration = self.parse_rate(self.rate)

    def get_rate(self) -> str | None:
        """The rate of the scope in DEFAULT_THROTTLE_RATES; without one, the rule of its name alone holds."""
        if not self.scope:
            raise ImproperlyConfigured(f"{type(self).__name__} has neither a rate nor a scope: set one of them")
        return self.THROTTLE_RATES.get(self.scope)

    def parse_rate(self, rate: str | None) -> tuple[int, float] | tuple[None, None]:
        """How many in how many seconds, of the first limit if the rate has several."""
        if rate is None:
            return None, None
        windows = windows_of(rate, type(self).__name__)
        return windows[0].limit, windows[0].period_ms / 1000

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
        key = self.get_cache_key(request, view)
        if key is None:
            return []
        client = self.client(request)
        identity = client if key == client else f"key:{key}"
        name = self.rule_name
        code = self.code_rule(name)
        unsaid = self.rate is None and not self.is_unlimited
        found = book.named(name, None if book.alone else code, request.method, warn=unsaid)
        return [rule.with_identity(identity) if rule is code or book.alone else rule for rule in found]

    def code_rule(self, name: str) -> Rule | None:
        """The rate as a rule, and known to be one; None without a rate."""
        own_words = type(self).parse_rate is not SimpleRateThrottle.parse_rate
        rate = type(self).parse_rate if own_words and self.rate is not None else self.rate
        if rate is not None or not self.is_unlimited:
            place, options = place_of(type(self)), self._options
            code_rates.register(CodeRate(name, rate, self.counts_per, frozenset(), place, shared=True, options=options))
        if self.rate is None:
            return None
        if not own_words:
            return code_rates.rule_of(name, self.rate, self.counts_per, frozenset(), options=self._options)
        limit, period_s = self.parse_rate(self.rate)
        if limit is None or period_s is None:
            return None
        return _rule_of(name, self.counts_per, limit, period_s, self._options)

    @property
    def is_unlimited(self) -> bool:
        """Whether the setting says by a rate of None that nothing holds."""
        return self.rate is None and self.scope in self.THROTTLE_RATES

    def allow_request(self, request: Request, view: Any) -> bool:
        return self.throttle_success() if super().allow_request(request, view) else self.throttle_failure()

    def throttle_success(self) -> bool:
        """Called when the request may pass."""
        return True

    def throttle_failure(self) -> bool:
        """Called when it may not."""
        return False


class AnonRateThrottle(SimpleRateThrottle):
    """Limits clients that are not logged in, by address; users pass."""

    scope = "anon"
    counts_per = "ip"

    def get_cache_key(self, request: Request, view: Any) -> str | None:
        client = self.client(request)
        return None if client.startswith("user:") else client


class UserRateThrottle(SimpleRateThrottle):
    """Limits each user, and clients that are not logged in by address."""

    scope = "user"

    def get_cache_key(self, request: Request, view: Any) -> str | None:
        return self.client(request)


class ScopedRateThrottle(SimpleRateThrottle):
    """Limits views by their `throttle_scope`, each user or address in each scope; a view without one passes."""

    scope_attr = "throttle_scope"

    def __init__(self) -> None:
        """The rate is the view's."""

    def get_cache_key(self, request: Request, view: Any) -> str | None:
        return self.client(request)

    def rules(self, book: Rulebook, request: Request, view: Any) -> Iterable[Rule]:
        return super().rules(book, request, view) if self.take_scope(view) else []

    def take_scope(self, view: Any) -> bool:
        """Take the scope of the view, and its rate; whether it has one."""
        self.scope = getattr(view, self.scope_attr, None)
        if not self.scope:
            return False
        self.rate = self.get_rate()
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
def _rule_of(name: str, key: str, limit: int, period_s: float, options: Options) -> Rule:
    """The rate of a class with a `parse_rate` of its own."""
    try:
        return code_rates.rule_of(name, f"{limit}/{round(period_s * 1000)}ms", key, frozenset(), options=options)
    except ValueError as error:
        raise ImproperlyConfigured(f"{name}: parse_rate gave {limit!r} in {period_s!r} s: {error}") from None


def place_of(throttle: type) -> str:
    return f"{throttle.__module__}.{throttle.__qualname__}"
