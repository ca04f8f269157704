"""django-smart-ratelimit: its decorators on its Redis backend, and its rules in the database for edits."""

from typing import Any
from urllib.parse import urlsplit

from conformance.adapter import Adapter, Limit, View, Where


class SmartRatelimit(Adapter):
    title = "django-smart-ratelimit"
    distribution = "django-smart-ratelimit"
    requirements = ("django-smart-ratelimit[redis]==4.12.1", "djangorestframework==3.18.3")
    configuration = (
        "`RATELIMIT_BACKEND` is `redis`, with timeouts and the default algorithm, a sliding window; a key of its own for each "
        "view; `@aratelimit` for async views; `RATELIMIT_TRUSTED_PROXIES` behind the proxy; a circuit breaker that tries "
        "again each second; dynamic rules cached for a second"
    )

    def settings(self, where: Where) -> dict[str, Any]:
        store = urlsplit(where.redis_url)  # by host and port, since its async client cannot be given a URL
        found: dict[str, Any] = {
            "INSTALLED_APPS": ["rest_framework", "django_smart_ratelimit"],
            "RATELIMIT_BACKEND": "redis",
            "RATELIMIT_REDIS": {
                "host": store.hostname,
                "port": store.port,
                "socket_timeout": 0.25,
                "socket_connect_timeout": 0.25,
            },
            "RATELIMIT_FAIL_OPEN": where.kind == "open",
            "RATELIMIT_CIRCUIT_BREAKER": {"failure_threshold": 3, "recovery_timeout": 1, "exponential_backoff_max": 1},
        }
        if where.kind == "proxied":
            found["RATELIMIT_TRUSTED_PROXIES"] = ["10.0.0.0/8"]
        if where.kind == "edits":
            found |= {
                "MIDDLEWARE": ["django_smart_ratelimit.middleware.RateLimitMiddleware"],
                "RATELIMIT_MIDDLEWARE": {"DEFAULT_RATE": "100000/m", "BACKEND": "redis"},
                "RATELIMIT_USE_DYNAMIC_RULES": True,
                "RATELIMIT_RULE_CACHE_TIMEOUT": 1,
            }
        return found

    def prepare(self) -> None:
        from django_smart_ratelimit.models import RateLimitRule

        RateLimitRule.objects.create(name="edited", path_pattern=r"^/edited/", rate="5/m", key="ip")

    def edit(self, requests: int) -> None:
        from django_smart_ratelimit.models import RateLimitRule

        rule = RateLimitRule.objects.get(name="edited")
        rule.rate = f"{requests}/m"
        rule.save()

    def limit(self, view: View, name: str, limits: tuple[Limit, ...]) -> View:
        from django_smart_ratelimit import ratelimit

        for limit in limits:
            view = ratelimit(key=_key(name, limit), rate=f"{limit.requests}/{limit.period_s}s", block=True)(view)
        return view

    def limit_async(self, view: View, name: str, limits: tuple[Limit, ...]) -> View:
        from django_smart_ratelimit import aratelimit

        for limit in limits:
            view = aratelimit(key=_key(name, limit), rate=f"{limit.requests}/{limit.period_s}s", block=True)(view)
        return view

    def throttles(self, name: str, limit: Limit) -> list[Any]:
        from django_smart_ratelimit.integrations.drf import AnonRateLimitThrottle

        return [type("Throttle", (AnonRateLimitThrottle,), {"rate": f"{limit.requests}/{limit.period_s}s", "scope": name})]

    def rate(self, view: View, text: str) -> View:
        from django_smart_ratelimit import ratelimit

        return ratelimit(key=_key(f"rate-{text}", Limit(1, 1)), rate=text, block=True)(view)

    def guard(self, view: View) -> View:
        from django_smart_ratelimit import ratelimit

        def by_name(request: Any, *args: Any, **kwargs: Any) -> str:
            return f"login-name:{request.POST.get('username', '')}"

        view = ratelimit(key=by_name, rate="5/m", block=True)(view)
        return ratelimit(key=_key("login", Limit(20, 60)), rate="20/m", block=True)(view)


def _key(name: str, limit: Limit) -> Any:
    """By the package's own functions; with the name, since all limits of one key and period share one count."""
    from django_smart_ratelimit.key_functions import get_ip_key

    def key(request: Any, *args: Any, **kwargs: Any) -> str:
        own = f"header:{request.headers.get(limit.header, '')}" if limit.header else get_ip_key(request)
        return f"{name}:{limit.requests}:{limit.period_s}:{own}"

    return key


ADAPTER = SmartRatelimit()
