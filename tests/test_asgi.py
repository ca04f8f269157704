"""The lifespan of a site, as a server drives it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import redis
from django.core.asgi import get_asgi_application

from ratewindow.asgi import Application, lifespan
from ratewindow.counting import minutes
from ratewindow.counting.counters import counters
from ratewindow.limiter.types import RuleDecision
from ratewindow.rulebook import current
from ratewindow.store import stores


class Server:
    """What a server does with an app: it tells it of the start and of the end, and hears its answers."""

    def __init__(self, app: Application) -> None:
        self._to_app: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._from_app: asyncio.Queue[Any] = asyncio.Queue()
        self.life = asyncio.ensure_future(app({"type": "lifespan"}, self._to_app.get, self._from_app.put))

    async def tell(self, what: str) -> str:
        await self._to_app.put({"type": f"lifespan.{what}"})
        return str((await asyncio.wait_for(self._from_app.get(), 10))["type"])


@asynccontextmanager
async def serving(app: Application) -> AsyncIterator[None]:
    server = Server(app)
    assert await server.tell("startup") == "lifespan.startup.complete"
    yield
    assert await server.tell("shutdown") == "lifespan.shutdown.complete"
    await server.life


def counted() -> int:
    return sum(rules["asked"].passed for rules in minutes.read(minutes.waiting(counters._clock_s())).values())


async def test_the_last_counts_are_sent_before_the_server_ends() -> None:
    async with serving(lifespan(get_asgi_application())):
        counters.record([RuleDecision(rule="asked")])
        assert counted() == 0
    assert counted() == 1


def clients(server: redis.Redis) -> set[str]:
    """Each of them by its number: those of an earlier test may still be going."""
    return {each["id"] for each in server.client_list()}


async def test_connections_of_the_loop_are_closed_before_the_server_ends(redis_client: redis.Redis) -> None:
    async with serving(lifespan(get_asgi_application())):
        before = clients(redis_client)
        store: Any = await stores.astore()
        await store.reset(["rw:s:nothing"])
        (ours,) = clients(redis_client) - before
    assert asyncio.get_running_loop() not in stores.held.of_loop
    while ours in clients(redis_client):  # the server hears of it a moment later
        await asyncio.sleep(0)


async def test_the_first_request_finds_the_rules_read(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    async def read() -> current.Rulebook:
        seen.append("read")
        return current.rulebook()

    monkeypatch.setattr(current, "arulebook", read)
    async with serving(lifespan(get_asgi_application())):
        assert seen == ["read"]


async def test_requests_go_to_the_app_untouched() -> None:
    seen: list[Any] = []

    async def app(*arguments: Any) -> None:
        seen.append(arguments)

    arguments: Any = ({"type": "http"}, object(), object())
    await lifespan(app)(*arguments)
    assert seen == [arguments]


async def test_a_redis_that_is_away_holds_up_no_end(settings: Any, caplog: pytest.LogCaptureFixture) -> None:
    settings.RATEWINDOW = {"REDIS": "redis://127.0.0.1:1/0"}
    async with serving(lifespan(get_asgi_application())):
        counters.record([RuleDecision(rule="asked")])
    assert "the last counts of this process could not be sent" in caplog.text
