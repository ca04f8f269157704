"""Limits in functions of a site's own move over, as docs/migration/django_ratelimit.md says, and answer as before."""

import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import time_machine
from django.contrib.auth.models import AnonymousUser, User
from django.core.cache import caches
from django.http import HttpRequest
from django.test import RequestFactory, override_settings
from django_ratelimit.core import is_ratelimited

import ratewindow
from ratewindow.testing import fresh_counts

CHECKOUT = Path(__file__).resolve().parents[2]
LOCAL = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache", "LOCATION": "of these tests"}}

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def clock() -> Iterator[Any]:
    with override_settings(CACHES=LOCAL), fresh_counts(), time_machine.travel("2026-11-20T12:00:10+00:00", tick=False) as held:
        caches["default"].clear()
        yield held


def is_limited(request: HttpRequest, name: str, rate: str, method: str = "POST") -> bool:
    return is_ratelimited(request, group=name, key="user_or_ip", rate=rate, method=method, increment=True)


def is_limited_now(request: HttpRequest, name: str, rate: str, method: str = "POST") -> bool:
    if request.method != method:
        return False
    own = f"{name}.{rate}".replace("/", "-")
    return not ratewindow.hit(own, request, rate=rate, key="user_or_ip", algorithm="fixed_window")


VIEWS = [("thread", "15/d"), ("thread", "5/d"), ("note-soon", "4/m"), ("note", "20/d"), ("vote", "10/d"), ("ask", "3/10m")]


def a_request(chance: random.Random) -> HttpRequest:
    method, address = chance.choice(["POST", "POST", "POST", "GET"]), f"198.51.100.{chance.randint(1, 2)}"
    request = RequestFactory().generic(method, "/", REMOTE_ADDR=address)
    request.user = chance.choice([AnonymousUser(), User(pk=1), User(pk=2)])
    return request


@pytest.mark.parametrize("seed", range(5))
def test_a_function_around_is_ratelimited_refuses_the_same_requests(seed: int, clock: Any) -> None:
    chance, refused = random.Random(seed), 0
    for number in range(600):
        if number % 200 == 199:  # when all windows of before are over
            clock.shift(timedelta(days=3))
        request, (name, rate) = a_request(chance), chance.choice(VIEWS)
        before = is_limited(request, name, rate)
        assert is_limited_now(request, name, rate) == before, (number, request, name, rate)
        refused += before
    assert refused > 50


class Buckets:
    """Token buckets as a site may have them, each with `capacity` tokens that come back evenly within `refill_s`."""

    def __init__(self, clock_ms: Callable[[], int]) -> None:
        self._clock_ms, self._held = clock_ms, dict[Any, tuple[int, Fraction]]()

    def tokens(self, what: Any, capacity: int, refill_s: int) -> Fraction:
        since_ms, tokens = self._held.get(what, (self._clock_ms(), Fraction(capacity)))
        return min(Fraction(capacity), tokens + Fraction((self._clock_ms() - since_ms) * capacity, 1000 * refill_s))

    def admits(self, what: Any, capacity: int, refill_s: int) -> bool:
        tokens = self.tokens(what, capacity, refill_s)
        if tokens >= 1:
            self._held[what] = self._clock_ms(), tokens - 1
        return tokens >= 1


@pytest.mark.parametrize("mean_s", [0, 1, 60, 3600])
def test_declared_limits_admit_what_a_site_s_own_token_buckets_do(mean_s: int, clock: Any) -> None:
    now_ms, chance, admitted = 0, random.Random(mean_s), {True: 0, False: 0}
    buckets = Buckets(lambda: now_ms)
    sizes = {"login": (20, 3600), "invite": (20, 86400), "send": (6, 60), "attempt": (96, 86400), "code": (1, 90)}
    limits = {name: ratewindow.limit(name, size, algorithm="token_bucket") for name, size in sizes.items()}
    for _ in range(1500):
        step_ms = round(1000 * chance.expovariate(1 / mean_s)) if mean_s else 0
        now_ms += step_ms
        clock.shift(timedelta(milliseconds=step_ms))
        name, who = chance.choice(list(sizes)), f"chat:{chance.randint(1, 3)}"
        has_room = buckets.tokens((name, who), *sizes[name]) >= 1
        assert bool(limits[name].peek(who)) == has_room
        assert bool(limits[name].hit(who)) == buckets.admits((name, who), *sizes[name]) == has_room
        admitted[has_room] += 1
    assert admitted[True] > 100
    assert mean_s == 3600 or admitted[False] > 10


SETTINGS = """
SECRET_KEY = "of tests"
INSTALLED_APPS = ["bank", "ratewindow", "django.contrib.auth", "django.contrib.contenttypes"]
AUTH_USER_MODEL = "bank.User"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "bank.sqlite3"}}
RATEWINDOW = {"REDIS": "memory://"}
ROOT_URLCONF = "bank"
"""
MODELS = """
from django.contrib.auth.models import AbstractUser

from ratewindow import limit

LOGIN = limit("login", "20/h", algorithm="token_bucket")
INVITE = limit("invite", "20/d", key="user")


class User(AbstractUser):
    pass
"""


def test_limits_that_models_declare_are_listed_before_any_call(tmp_path: Path) -> None:
    (tmp_path / "bank").mkdir()
    for name, text in (("site_settings", SETTINGS), ("bank/models", MODELS), ("bank/__init__", "urlpatterns = []\n")):
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    environment = {"DJANGO_SETTINGS_MODULE": "site_settings", "PYTHONPATH": f"{CHECKOUT}:{tmp_path}"}

    def manage(*arguments: str) -> str:
        command = [sys.executable, "-m", "django", *arguments]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stdout

    manage("makemigrations", "bank")
    manage("migrate")
    lines = manage("ratewindow", "rules").splitlines()[2:]
    assert [line.split() for line in lines] == [
        ["invite", "in", "code", "bank.models:7", "user", "20/d"],
        ["login", "in", "code", "bank.models:6", "ip", "20/h,", "algorithm='token_bucket'"],
    ]
