"""Other libraries around the same view, each used as its own documentation begins: by client address, on the same Redis."""

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from benchmarks.site import view
from ratewindow import ratelimit

View = Callable[[HttpRequest], Any]

_UNITS = {"m": "minute", "h": "hour"}


def ours(rate: str) -> View:
    return ratelimit(f"bench.peers-{rate.replace('/', '-per-')}", rate)(view)


def django_ratelimit(rate: str) -> View:
    """Fixed windows, counted in the cache; refuses by an exception, which Django's handler turns into 403."""
    from django_ratelimit.decorators import ratelimit as limit
    from django_ratelimit.exceptions import Ratelimited

    limited = limit(key="ip", rate=rate, group=f"bench-{rate}")(view)

    def handled(request: HttpRequest) -> HttpResponse:
        try:
            return limited(request)
        except Ratelimited:
            return HttpResponse(status=403)

    return handled


def django_smart_ratelimit(rate: str) -> View:
    """A sorted set of the requests, its default."""
    from django_smart_ratelimit import ratelimit as limit

    return limit(key="ip", rate=rate, block=True)(view)


def rest_framework(rate: str | None) -> View:
    """A list of times in the cache. Its views do more than limit, so there is one without a throttle beside it."""
    from rest_framework.decorators import api_view, throttle_classes
    from rest_framework.throttling import AnonRateThrottle

    throttle = type("Throttle", (AnonRateThrottle,), {"rate": rate, "scope": f"bench-{rate}"})
    return api_view(["GET"])(throttle_classes([throttle] if rate else [])(view))


def limits(strategy: str) -> Callable[[str], View]:
    """No Django in it: asked as its documentation does, in the three lines of a decorator."""

    def around(rate: str) -> View:
        from limits import parse, storage, strategies

        limiter = getattr(strategies, strategy)(storage.RedisStorage(settings.RATEWINDOW["REDIS"]))
        count, unit = rate.split("/")
        item = parse(f"{count}/{_UNITS[unit]}")

        def limited(request: HttpRequest) -> HttpResponse:
            return view(request) if limiter.hit(item, "bench", request.META["REMOTE_ADDR"]) else HttpResponse(status=429)

        return limited

    return around


# What each is called in the table; `around(rate)` is the view behind its limit.
CONTENDERS: dict[str, Callable[[str], View]] = {
    "ratewindow": ours,
    "limits, sliding window counter": limits("SlidingWindowCounterRateLimiter"),
    "limits, moving window": limits("MovingWindowRateLimiter"),
    "DRF, AnonRateThrottle": rest_framework,
    "django-smart-ratelimit": django_smart_ratelimit,
    "django-ratelimit": django_ratelimit,
}
