"""django-allauth: the limits of its own pages, and its decorator, with counts in a cache on Redis."""

from typing import Any

from conformance.adapter import Adapter, Limit, View, Where
from conformance.adapters import cache


class Allauth(Adapter):
    title = "django-allauth"
    distribution = "django-allauth"
    requirements = ("django-allauth==65.22.1", *cache.REQUIREMENTS)
    configuration = (
        "counts in django-redis; views by `allauth.decorators.rate_limit`, the one of its own pages; logins by its login page "
        "with the default rates, and `secure_admin_login`; `ALLAUTH_TRUSTED_PROXY_COUNT` is 1 behind the proxy"
    )
    without = {
        "async": "the decorator is for sync views",
        "drf": "no throttle for Django REST framework",
        "open": "no setting for what happens while the cache is down",
        "closed": "no setting for what happens while the cache is down",
        "header": "keys are addresses, users, and names that its own pages take",
        "edits": "limits are in settings",
    }
    login_path = "/accounts/login/"
    login_field = "login"

    def settings(self, where: Where) -> dict[str, Any]:
        from conformance.site.limits import LIMITS

        proxies = {"ALLAUTH_TRUSTED_PROXY_COUNT": 1} if where.kind == "proxied" else {}
        return proxies | {
            "INSTALLED_APPS": ["allauth", "allauth.account"],
            "MIDDLEWARE": ["allauth.account.middleware.AccountMiddleware"],
            "AUTHENTICATION_BACKENDS": ["allauth.account.auth_backends.AuthenticationBackend"],
            "LOGIN_URL": "account_login",
            "ACCOUNT_EMAIL_VERIFICATION": "none",
            "ACCOUNT_RATE_LIMITS": {name: _text(limits) for name, limits in LIMITS.items()},
            "CACHES": cache.on_redis(where.redis_url, ignore_errors=where.kind == "open"),
        }

    def limit(self, view: View, name: str, limits: tuple[Limit, ...]) -> View:
        from allauth.decorators import rate_limit

        limited: View = rate_limit(action=name, limit_get=True)(view)
        return limited

    def rate(self, view: View, text: str) -> View:
        from allauth.core.internal.ratelimit import decorator

        limited: View = decorator(app="conformance", action=text, config={text: text}, limit_get=True)(view)
        return limited

    def guard(self, view: View) -> View:
        from allauth.account.decorators import secure_admin_login

        return secure_admin_login(view) if getattr(view, "__self__", None) else view

    def urls(self) -> list[Any]:
        from django.urls import include, path

        return [path("accounts/", include("allauth.urls"))]


def _text(limits: tuple[Limit, ...]) -> str:
    return ",".join(f"{limit.requests}/{limit.period_s}s/ip" for limit in limits)


ADAPTER = Allauth()
