"""django-ratelimit: its decorator, its middleware for 429, its counts in a cache on Redis."""

from typing import Any

from conformance.adapter import Adapter, Limit, View, Where
from conformance.adapters import cache


class DjangoRatelimit(Adapter):
    title = "django-ratelimit"
    distribution = "django-ratelimit"
    requirements = ("django-ratelimit==4.1.0", *cache.REQUIREMENTS)
    configuration = (
        "counts in django-redis; `RATELIMIT_FAIL_OPEN` with `IGNORE_EXCEPTIONS`, which it needs; 429 by `RatelimitMiddleware` "
        "and `RATELIMIT_VIEW`; behind the proxy `RATELIMIT_IP_META_KEY` is `HTTP_X_REAL_IP`; logins by `post:username` and `ip`"
    )
    without = {
        "async": "the decorator is for sync views; an async view answers 500",
        "drf": "no throttle for Django REST framework",
        "edits": "limits are in code",
    }

    def settings(self, where: Where) -> dict[str, Any]:
        found: dict[str, Any] = {
            "INSTALLED_APPS": ["django_ratelimit"],
            "MIDDLEWARE": ["django_ratelimit.middleware.RatelimitMiddleware"],
            "RATELIMIT_VIEW": "conformance.adapters.django_ratelimit.refused",
            "RATELIMIT_FAIL_OPEN": where.kind == "open",
            "CACHES": cache.on_redis(where.redis_url, ignore_errors=where.kind in ("open", "closed")),
        }
        if where.kind == "proxied":
            found["RATELIMIT_IP_META_KEY"] = "HTTP_X_REAL_IP"
        return found

    def limit(self, view: View, name: str, limits: tuple[Limit, ...]) -> View:
        from django_ratelimit.decorators import ratelimit

        for limit in limits:
            key = f"header:{limit.header}" if limit.header else "ip"
            view = ratelimit(group=name, key=key, rate=f"{limit.requests}/{limit.period_s}s")(view)
        return view

    def rate(self, view: View, text: str) -> View:
        from django_ratelimit.decorators import ratelimit

        return ratelimit(group=f"rate-{text}", key="ip", rate=text)(view)

    def guard(self, view: View) -> View:
        from django_ratelimit.decorators import ratelimit

        for key, rate in (("post:username", "5/m"), ("ip", "20/m")):
            view = ratelimit(group="login", key=key, rate=rate, method=ratelimit.UNSAFE)(view)
        return view


def refused(request: Any, exception: Exception) -> Any:
    from django.http import HttpResponse

    return HttpResponse("Too many requests", status=429)


ADAPTER = DjangoRatelimit()
