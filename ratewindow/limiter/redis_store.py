"""The stores on a Redis server: one call decides a request, whatever it meets."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from redis.exceptions import NoScriptError

from ratewindow.limiter.scripts import script_for
from ratewindow.limiter.types import Check
from ratewindow.limiter.wire import What, command, refund_command

if TYPE_CHECKING:
    import redis
    import redis.asyncio

Refunds = Sequence[tuple[Check, Sequence[int | None]]]


class RedisStore:
    """Counts on one Redis or Valkey server, reached by the given client.

    The client decides how long a call may take and whether it is repeated. Give it short timeouts and no
    retries: a call that is repeated because its answer was lost counts twice.
    """

    def __init__(self, client: "redis.Redis") -> None:
        self._client = client

    def run(self, checks: list[Check], what: What, now_ms: int | None = None) -> list[int]:
        """The reply of ``lua/decide.lua``."""
        script = script_for("decide", checks)
        try:
            reply = self._client.execute_command(*command(script, checks, what, now_ms))
        except NoScriptError:  # a server that was started anew, or whose scripts were flushed
            reply = self._client.execute_command(*command(script, checks, what, now_ms, by_sha=False))
        return cast("list[int]", reply)

    def refund(self, refunds: Refunds, now_ms: int | None = None) -> None:
        """Give back the cost of each check, to the times it was charged at."""
        script = script_for("refund", [check for check, _ in refunds])
        try:
            self._client.execute_command(*refund_command(script, refunds, now_ms))
        except NoScriptError:
            self._client.execute_command(*refund_command(script, refunds, now_ms, by_sha=False))

    def reset(self, keys: Sequence[str]) -> None:
        """Forget these states."""
        self._client.unlink(*keys)


class AsyncRedisStore:
    """`RedisStore` for asyncio, on a ``redis.asyncio`` client of the running event loop."""

    def __init__(self, client: "redis.asyncio.Redis") -> None:
        self._client = client

    async def run(self, checks: list[Check], what: What, now_ms: int | None = None) -> list[int]:
        script = script_for("decide", checks)
        try:
            reply = await self._client.execute_command(*command(script, checks, what, now_ms))
        except NoScriptError:
            reply = await self._client.execute_command(*command(script, checks, what, now_ms, by_sha=False))
        return cast("list[int]", reply)

    async def refund(self, refunds: Refunds, now_ms: int | None = None) -> None:
        script = script_for("refund", [check for check, _ in refunds])
        try:
            await self._client.execute_command(*refund_command(script, refunds, now_ms))
        except NoScriptError:
            await self._client.execute_command(*refund_command(script, refunds, now_ms, by_sha=False))

    async def reset(self, keys: Sequence[str]) -> None:
        await self._client.unlink(*keys)
