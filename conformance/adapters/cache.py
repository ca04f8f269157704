"""A cache on Redis for limiters that count in Django's cache: django-redis, with timeouts, and errors ignored if told to."""

from typing import Any

REQUIREMENTS = ("django-redis==7.0.0", "hiredis==3.5.0")
TIMEOUT_S = 0.25


def on_redis(url: str, ignore_errors: bool) -> dict[str, Any]:
    from redis.backoff import NoBackoff
    from redis.retry import Retry

    options = {
        "IGNORE_EXCEPTIONS": ignore_errors,
        "SOCKET_TIMEOUT": TIMEOUT_S,
        "SOCKET_CONNECT_TIMEOUT": TIMEOUT_S,
        "CONNECTION_POOL_KWARGS": {"retry": Retry(NoBackoff(), 0)},
    }
    return {"default": {"BACKEND": "django_redis.cache.RedisCache", "LOCATION": url, "OPTIONS": options}}
