"""Django REST framework: its own throttles, with their counts in a cache on Redis."""

from typing import Any

from conformance.adapter import Adapter, Limit, View, Where
from conformance.adapters import cache


class RestFramework(Adapter):
    title = "DRF throttles"
    distribution = "djangorestframework"
    requirements = ("djangorestframework==3.18.3", *cache.REQUIREMENTS)
    configuration = (
        "`AnonRateThrottle` with counts in django-redis, and `parse_rate` overridden for periods of seconds; `NUM_PROXIES` is 1 "
        "behind the proxy; `IGNORE_EXCEPTIONS` is how requests pass while Redis is down"
    )
    without = {
        "async": "no async views",
        "closed": "no setting for what happens while the cache is down",
        "header": "keys are addresses, users and scopes",
        "edits": "limits are in code",
        "logins": "its documentation says that throttles are no protection against guessing",
    }

    def settings(self, where: Where) -> dict[str, Any]:
        proxies = {"NUM_PROXIES": 1} if where.kind == "proxied" else {}
        return {
            "INSTALLED_APPS": ["rest_framework"],
            "REST_FRAMEWORK": proxies,
            "CACHES": cache.on_redis(where.redis_url, ignore_errors=where.kind == "open"),
        }

    def throttles(self, name: str, limit: Limit) -> list[Any]:
        from rest_framework.throttling import AnonRateThrottle

        class Throttle(AnonRateThrottle):
            scope = f"{name}-{limit.requests}-{limit.period_s}"
            rate = "in seconds"

            def parse_rate(self, rate: str) -> tuple[int, int]:
                return limit.requests, limit.period_s

        return [Throttle]

    def limit(self, view: View, name: str, limits: tuple[Limit, ...]) -> View:
        return _view(view, [throttle for limit in limits for throttle in self.throttles(name, limit)])

    def rate(self, view: View, text: str) -> View:
        from rest_framework.throttling import AnonRateThrottle

        return _view(view, [type("Typed", (AnonRateThrottle,), {"scope": f"rate-{text}", "rate": text})])


def _view(view: View, throttles: list[Any]) -> View:
    from rest_framework.decorators import api_view, throttle_classes

    decorated: View = api_view(["GET"])(throttle_classes(throttles)(view))
    return decorated


ADAPTER = RestFramework()
