"""Throttles as sites write them: with the import swapped they decide as before, request by request."""

import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import time_machine
from django.conf import settings
from django.core.cache.backends.locmem import LocMemCache
from django.core.exceptions import ImproperlyConfigured
from django.http import HttpRequest
from django.test import override_settings
from rest_framework import throttling
from rest_framework.exceptions import Throttled
from rest_framework.request import Request

import ratewindow.rest_framework
from tests.support.rest_views import ANN, BOB, request_of

pytestmark = pytest.mark.slow

REQUESTS = 500
RATES = {"user": "6/min", "anon": "5/min", "tenants": "8/min", "views": "7/min", "listed": ["3/min", "9/hour"]}
STEPS = 64  # of the clock in a second: floats hold them exactly, so what is over to the instant is over on both sides


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[time_machine.Traveller]:
    """The clock of both sides, which stands still between requests; ours counts in memory, where no server has another."""
    monkeypatch.setattr(throttling.SimpleRateThrottle, "THROTTLE_RATES", RATES)
    in_memory = {**settings.RATEWINDOW, "REDIS": "memory://"}
    with (
        override_settings(REST_FRAMEWORK={"DEFAULT_THROTTLE_RATES": RATES}, RATEWINDOW=in_memory),
        time_machine.travel(1_800_000_000, tick=False) as held,
    ):
        yield held


class View:
    """What a throttle reads of its view."""

    throttle_scope = "views"


def key_of_header(throttle: Any, request: Request) -> str | None:
    token = request.headers.get("x-token")
    return f"{throttle.scope}:{token}" if token else None


def shapes(base: Any) -> dict[str, Any]:
    """Classes such as sites write, on the classes of one module or the other."""

    class OnlyARate(base.UserRateThrottle):
        rate = "10/min"

    class ByHeader(base.SimpleRateThrottle):
        scope, rate = "tokens", "6/minute"

        def get_cache_key(self, request: Request, view: Any) -> Any:
            return key_of_header(self, request)

    class RateOfTenant(base.ScopedRateThrottle):
        """Takes the rate from the request, and leaves out the step in which the base would take it from the view."""

        def allow_request(self, request: Request, view: Any) -> bool:
            if request.headers.get("x-inside"):
                return True
            self.scope = "tenants"
            self.rate = {"one": "4/min", "two": "12/min"}.get(request.headers.get("x-token", ""), RATES["tenants"])
            self.num_requests, self.duration = self.parse_rate(self.rate)
            return super(base.ScopedRateThrottle, self).allow_request(request, view)

        def get_cache_key(self, request: Request, view: Any) -> Any:
            return self.cache_format % {"scope": self.scope, "ident": request.headers.get("x-token") or self.get_ident(request)}

    class RateOfUser(base.UserRateThrottle):
        """Has another rate for some."""

        def allow_request(self, request: Request, view: Any) -> bool:
            if request.user.pk == 1:
                self.rate = "15/min"
                self.num_requests, self.duration = self.parse_rate(self.rate)
            return super().allow_request(request, view)

    class NumbersAlone(base.UserRateThrottle):
        """Sets the numbers, and no rate that would say them."""

        rate = "1000/min"

        def __init__(self) -> None:
            super().__init__()
            self.num_requests, self.duration = 9, 90

    class HalfForSome(base.AnonRateThrottle):
        def allow_request(self, request: Request, view: Any) -> bool:
            if request.headers.get("x-token"):
                self.num_requests //= 2
            return super().allow_request(request, view)

    class OwnWords(base.UserRateThrottle):
        rate = "8 in 2 minutes"

        def parse_rate(self, rate: Any) -> Any:
            count, _, minutes, _ = rate.split()
            return int(count), 60 * int(minutes)

    class FallsBack(base.UserRateThrottle):
        scope = "unknown"

        def get_rate(self) -> Any:
            try:
                return super().get_rate()
            except ImproperlyConfigured:
                return "5/min"

    class AllTheAlgorithm(base.UserRateThrottle):
        """Does by itself what the base does, and calls it for the rest."""

        def allow_request(self, request: Request, view: Any) -> bool:
            if request.headers.get("x-inside"):
                return True
            self.key = self.get_cache_key(request, view)
            self.history = self.cache.get(self.key, [])
            self.now = self.timer()
            while self.history and self.history[-1] <= self.now - self.duration:
                self.history.pop()
            full = len(self.history) >= self.num_requests
            return self.throttle_failure() if full else self.throttle_success()

    class SeveralRates(base.UserRateThrottle):
        """Has several rates over one list of its own, and raises."""

        scope = "listed"

        def __init__(self) -> None:
            self.rates = [self.parse_rate(rate) for rate in self.THROTTLE_RATES[self.scope]]
            self.rate = self.THROTTLE_RATES[self.scope][0]

        def get_cache_key(self, request: Request, view: Any) -> Any:
            return f"{super().get_cache_key(request, view)}_all"

        def allow_request(self, request: Request, view: Any) -> bool:
            self.key, self.now = self.get_cache_key(request, view), self.timer()
            self.history = [each for each in self.cache.get(self.key, []) if each > self.now - 3600]
            for limit, period_s in self.rates:
                inside = [each for each in self.history if each > self.now - period_s]
                if len(inside) >= limit:
                    raise Throttled(wait=inside[limit - 1] + period_s - self.now)
            self.history.insert(0, self.now)
            self.cache.set(self.key, self.history, 3600)
            return True

    class Listens(ByHeader):
        def throttle_success(self) -> bool:
            self.heard = "passed"
            return super().throttle_success()

        def throttle_failure(self) -> bool:
            self.heard = "refused"
            return super().throttle_failure()

    class EachRateInTurn(ByHeader):
        def allow_request(self, request: Request, view: Any) -> bool:
            for self.rate in ("4/min", "9/hour"):
                self.num_requests, self.duration = self.parse_rate(self.rate)
                if not super().allow_request(request, view):
                    return False
            return True

        def get_cache_key(self, request: Request, view: Any) -> Any:
            key = super().get_cache_key(request, view)
            return key and f"{key}_{self.rate}"

    class OtherKeys(base.UserRateThrottle):
        cache_format = "%(ident)s-of-%(scope)s"
        THROTTLE_RATES = {"user": "4/min"}

    class OwnScope(base.ScopedRateThrottle):
        scope = "whatever the class says"

    found = {name: kind for name, kind in locals().items() if isinstance(kind, type)}
    for kind in found.values():
        kind.cache = LocMemCache(f"{base.__name__} {kind.__name__}", {})  # each side has one of its own
    return found


BEFORE, AFTER = shapes(throttling), shapes(ratewindow.rest_framework)


def request(chance: random.Random) -> Callable[[], Request]:
    """Makes one request as often as it is asked."""
    user = chance.choice([None, ANN, BOB])
    headers = {"x-token": chance.choice(["one", "two", ""]), "x-inside": chance.choice(["", "", "yes"])}
    address = f"203.0.113.{chance.randint(1, 2)}"

    def made() -> Request:
        plain: HttpRequest = request_of(user, REMOTE_ADDR=address, headers={name: told for name, told in headers.items() if told})
        found = Request(plain)
        if user is not None:
            found.user = user
        return found

    return made


def answer(throttle: Any, asked: Request) -> tuple[Any, ...]:
    """The verdict, the wait of a refusal, and what the throttle was told."""
    try:
        passes = throttle.allow_request(asked, View())
        wait = None if passes else throttle.wait()
    except Throttled as raised:
        passes, wait = False, raised.wait
    return passes, wait, getattr(throttle, "heard", None)


@pytest.mark.parametrize("name", BEFORE)
def test_it_decides_as_before(name: str, clock: time_machine.Traveller) -> None:
    chance, refused = random.Random(name), 0
    for number in range(REQUESTS):
        pause_s = chance.choice([0, 0, 0.5, 1, chance.expovariate(0.3), chance.expovariate(0.3), chance.expovariate(0.02)])
        clock.shift(round(STEPS * pause_s) / STEPS)
        made = request(chance)
        theirs, ours = BEFORE[name](), AFTER[name]()
        before, after = answer(theirs, made()), answer(ours, made())
        refused += not before[0]
        assert (before[0], *before[2:]) == (after[0], *after[2:]), f"request {number}: {before} before, {after} after"
        if before[1] is not None:  # None as well where more counts than the limit: here the wait is told
            assert abs(before[1] - after[1]) < 1, f"request {number}: {before} before, {after} after"
    assert REQUESTS / 50 < refused < REQUESTS, "it was not tried"
