"""A small site behind the gate, and a visitor who tells what was decided about each request, sync or async."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, NamedTuple

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.test import AsyncClient, Client, override_settings
from django.urls import path

from ratewindow import ratelimit
from ratewindow.store import outage, process_clients, stores

LIMIT = 20
SHORT = "500ms"  # long enough that a busy machine does not look like a fault

Touched = Callable[[], AbstractContextManager[list[str]]]
"""What this process does on sockets of the network meanwhile, by name."""


def _told(request: HttpRequest) -> JsonResponse:
    (decision,) = request.ratewindow.decisions  # type: ignore[attr-defined]
    return JsonResponse({"cause": decision.cause})


@ratelimit("faults", f"{LIMIT}/h", key="header:x-client")
def view(request: HttpRequest) -> JsonResponse:
    return _told(request)


@ratelimit("faults", f"{LIMIT}/h", key="header:x-client")
async def aview(request: HttpRequest) -> JsonResponse:
    return _told(request)


urlpatterns = [path("sync/", view), path("async/", aview)]


class Answer(NamedTuple):
    status: int
    cause: str  # why it was decided without the store; "" when the store did


class Visitor:
    """Asks as one client of the site; all asynchronous requests in one event loop, as on a server."""

    def __init__(self, is_async: bool, runner: asyncio.Runner) -> None:
        self.is_async, self._runner = is_async, runner

    def ask(self, times: int = 1, client: str = "somebody") -> list[Answer]:
        return [self._ask(client) for _ in range(times)]

    def admitted(self, client: str = "somebody") -> int:
        """How many more requests are admitted until one is refused; the store must decide each of them."""
        for number in range(LIMIT + 1):
            (answer,) = self.ask(client=client)
            assert answer.cause == "", f"request {number} was decided without the store: {answer.cause}"
            if answer.status == 429:
                return number
        raise AssertionError("the limit does not hold")

    def _ask(self, client: str) -> Answer:
        headers = {"x-client": client}
        response = self._runner.run(_get(headers)) if self.is_async else Client().get("/sync/", headers=headers)
        return Answer(response.status_code, response.json()["cause"] if response.status_code == 200 else "")


async def _get(headers: dict[str, str]) -> HttpResponse:
    response: HttpResponse = await AsyncClient().get("/async/", headers=headers)
    await settle()
    return response


async def settle() -> None:
    """Let end what goes on beside requests: the loop of a server runs on between them, that of a test does not."""
    await asyncio.sleep(0)
    while others := asyncio.all_tasks() - {asyncio.current_task()}:
        await asyncio.wait(others)


@contextmanager
def site_on(url: str, timeout: str = SHORT, **more: Any) -> Iterator[None]:
    changed = {**settings.RATEWINDOW, "REDIS": url, "TIMEOUT": timeout, **more}
    with override_settings(RATEWINDOW=changed, ROOT_URLCONF="tests.faults.site"):
        try:
            yield
        finally:
            process_clients.close()


def probe() -> None:
    """What housekeeping does four times a second."""

    outage.breaker.look()
    stores.shards.look()
