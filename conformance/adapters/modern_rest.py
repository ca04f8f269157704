"""django-modern-rest: the throttles of its controllers, on its Redis backend."""

from typing import Any

from conformance.adapter import Adapter, Limit, View, Where

TIMEOUT_S = 0.25


class ModernRest(Adapter):
    title = "django-modern-rest"
    distribution = "django-modern-rest"
    requirements = ("django-modern-rest[msgspec]==0.16.0", "redis==8.1.0", "hiredis==3.5.0")
    configuration = (
        "`SyncThrottle` and `AsyncThrottle` with `SyncRedis` and `AsyncRedis`, clients with timeouts and no retries, the "
        "default algorithm, and the headers `X-RateLimit`, `Retry-After` and those of the IETF draft"
    )
    without = {
        "drf": "a framework of its own",
        "proxy": "the key is `REMOTE_ADDR`; its documentation leaves proxies to the server",
        "open": "no setting for what happens while Redis is down",
        "closed": "no setting for what happens while Redis is down",
        "rate": "a rate is two numbers",
        "header": "keys are addresses, users and tokens",
        "edits": "limits are in code",
        "logins": "its documentation sends its readers to django-axes for logins",
    }

    def settings(self, where: Where) -> dict[str, Any]:
        return {"INSTALLED_APPS": ["dmr"], "CONFORMANCE_REDIS": where.redis_url}

    def limit(self, view: View, name: str, limits: tuple[Limit, ...]) -> View:
        from dmr import Controller, modify
        from dmr.plugins.msgspec import MsgspecSerializer
        from dmr.throttling import SyncThrottle
        from dmr.throttling.backends.redis import SyncRedis

        class Limited(Controller[MsgspecSerializer]):
            throttling = [
                SyncThrottle(*_numbers(limit), backend=SyncRedis(_client()), response_headers=_headers()) for limit in limits
            ]

            @modify(operation_id=name)
            def get(self) -> str:
                text: str = view(self.request).content.decode()
                return text

        limited: View = Limited.as_view()
        return limited

    def limit_async(self, view: View, name: str, limits: tuple[Limit, ...]) -> View:
        from dmr import Controller, modify
        from dmr.plugins.msgspec import MsgspecSerializer
        from dmr.throttling import AsyncThrottle
        from dmr.throttling.backends.redis import AsyncRedis

        class Limited(Controller[MsgspecSerializer]):
            throttling = [
                AsyncThrottle(*_numbers(limit), backend=AsyncRedis(_client(is_async=True)), response_headers=_headers())
                for limit in limits
            ]

            @modify(operation_id=name)
            async def get(self) -> str:
                text: str = (await view(self.request)).content.decode()
                return text

        limited: View = Limited.as_view()
        return limited


def _numbers(limit: Limit) -> tuple[int, int]:
    return limit.requests, limit.period_s


def _headers() -> list[Any]:
    from dmr.throttling.headers import RateLimitIETFDraft, RetryAfter, XRateLimit

    return [XRateLimit(), RetryAfter(), RateLimitIETFDraft()]


def _client(is_async: bool = False) -> Any:
    import redis
    from django.conf import settings
    from redis.asyncio.retry import Retry as AsyncRetry
    from redis.backoff import NoBackoff
    from redis.retry import Retry

    timeouts = {"socket_timeout": TIMEOUT_S, "socket_connect_timeout": TIMEOUT_S}
    if is_async:
        return redis.asyncio.Redis.from_url(settings.CONFORMANCE_REDIS, retry=AsyncRetry(NoBackoff(), 0), **timeouts)
    return redis.Redis.from_url(settings.CONFORMANCE_REDIS, retry=Retry(NoBackoff(), 0), **timeouts)


ADAPTER = ModernRest()
