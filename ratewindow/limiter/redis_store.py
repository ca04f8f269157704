"""The stores on a Redis server: one call decides a request, whatever it meets."""

from typing import TYPE_CHECKING, cast

from redis.exceptions import NoScriptError

from ratewindow.limiter.scripts import script_for
from ratewindow.limiter.types import Check
from ratewindow.limiter.wire import command

if TYPE_CHECKING:
    import redis
    import redis.asyncio


class RedisStore:
    """Counts on one Redis or Valkey server, reached by the given client.

    The client decides how long a call may take and whether it is repeated. Give it short timeouts and no
    retries: a call that is repeated because its answer was lost counts twice.
    """

    def __init__(self, client: "redis.Redis") -> None:
        self._client = client

    def run(self, checks: list[Check], charge: bool, now_ms: int | None = None) -> list[int]:
        script = script_for(checks)
        try:
            reply = self._client.execute_command(*command(script, checks, charge, now_ms))
        except NoScriptError:  # a server that was started anew, or whose scripts were flushed
            reply = self._client.execute_command(*command(script, checks, charge, now_ms, by_sha=False))
        return cast("list[int]", reply)


class AsyncRedisStore:
    """`RedisStore` for asyncio, on a ``redis.asyncio`` client of the running event loop."""

    def __init__(self, client: "redis.asyncio.Redis") -> None:
        self._client = client

    async def run(self, checks: list[Check], charge: bool, now_ms: int | None = None) -> list[int]:
        script = script_for(checks)
        try:
            reply = await self._client.execute_command(*command(script, checks, charge, now_ms))
        except NoScriptError:
            reply = await self._client.execute_command(*command(script, checks, charge, now_ms, by_sha=False))
        return cast("list[int]", reply)
