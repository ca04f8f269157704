"""A small Django site for one run: settings, tables and requests, without files of its own in the way."""

from collections.abc import Callable
from pathlib import Path

import django
from django.conf import settings
from django.core.management import call_command
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory

CLIENTS = 200  # different addresses that the requests come from
urlpatterns: list[object] = []  # views are called, not routed to


def set_up(redis_url: str, folder: Path) -> None:
    """Configure Django and make the tables. Peers find the same server, each configured as its documentation says."""
    settings.configure(
        SECRET_KEY="for benchmarks only",
        ALLOWED_HOSTS=["*"],
        ROOT_URLCONF=__name__,
        USE_TZ=True,
        INSTALLED_APPS=[
            "django.contrib.contenttypes",
            "django.contrib.auth",
            "ratewindow",
            "rest_framework",
            "django_smart_ratelimit",
        ],
        DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": folder / "db.sqlite3"}},
        DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
        CACHES={"default": {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": redis_url}},
        # Sixteen threads on a busy machine may wait long, and a decision that was given up is no measurement.
        RATEWINDOW={"REDIS": redis_url, "TIMEOUT": "5s"},
        RATELIMIT_BACKEND="redis",
        RATELIMIT_REDIS={"url": redis_url},
    )
    django.setup()
    call_command("migrate", verbosity=0)


def tear_down() -> None:
    """Send the last counts while there is a server to send them to."""
    from ratewindow.counting.counters import counters

    counters.flush()


def view(request: HttpRequest) -> HttpResponse:
    """What all libraries are put around. It takes no time: its answer was made with the request."""
    return request.answer  # type: ignore[attr-defined, no-any-return]


def requests(path: str = "/", address: str | None = None) -> Callable[[int], list[HttpRequest]]:
    """Makes so many fresh requests: from `CLIENTS` addresses in turn, or all from one."""
    factory = RequestFactory()

    def make(count: int) -> list[HttpRequest]:
        addresses = [address or f"10.1.{number % CLIENTS // 100}.{number % 100}" for number in range(count)]
        return [_answered(factory.get(path, REMOTE_ADDR=each)) for each in addresses]

    return make


def _answered(request: HttpRequest) -> HttpRequest:
    request.answer = HttpResponse("ok")  # type: ignore[attr-defined]
    return request
