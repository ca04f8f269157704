"""The lifespan of a site, as a server drives it, around apps that know the protocol and apps that do not."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import redis
from django.core.asgi import get_asgi_application

from ratewindow.asgi import Application, lifespan
from ratewindow.limiter.types import Decision
from ratewindow.reporting import counters, minutes
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
    return sum(rules["asked"].passed for rules in minutes.read(minutes.waiting(counters._process._clock_s())).values())


async def test_the_last_counts_are_sent_before_the_server_ends() -> None:
    async with serving(lifespan(get_asgi_application())):
        counters.record([Decision(rule="asked")])
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
    assert asyncio.get_running_loop() not in stores._held.of_loop
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


async def test_an_app_that_knows_the_protocol_goes_on_hearing_of_it() -> None:
    seen: list[str] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        assert scope["type"] == "lifespan"
        for _ in range(2):
            message = await receive()
            seen.append(message["type"])
            await send({"type": f"{message['type']}.complete"})

    async with serving(lifespan(app)):
        assert seen == ["lifespan.startup"]
        counters.record([Decision(rule="asked")])
    assert seen == ["lifespan.startup", "lifespan.shutdown"]
    assert counted() == 1


async def test_an_app_that_cannot_start_says_so_to_the_server() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "lifespan.startup.failed", "message": "no"})

    server = Server(lifespan(app))
    assert await server.tell("startup") == "lifespan.startup.failed"
    await server.life


async def test_an_app_that_fails_in_its_own_part_fails_and_the_counts_are_sent_all_the_same() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        raise RuntimeError("the app's own")

    server = Server(lifespan(app))
    await server.tell("startup")
    counters.record([Decision(rule="asked")])
    await server._to_app.put({"type": "lifespan.shutdown"})
    with pytest.raises(RuntimeError, match="the app's own"):
        await server.life
    assert counted() == 1


@pytest.mark.parametrize("hears_first", [False, True])
async def test_an_app_that_only_returns_is_one_that_does_not_know_the_protocol(hears_first: bool) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        if hears_first:
            await receive()

    async with serving(lifespan(app)):
        counters.record([Decision(rule="asked")])
    assert counted() == 1


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
        counters.record([Decision(rule="asked")])
    assert "the last counts of this process could not be sent" in caplog.text
