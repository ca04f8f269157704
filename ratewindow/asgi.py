"""The site's lifespan under an ASGI server: rules before the first request, counts and connections after the last one."""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

# Nothing of ours is imported here: this module is, at the head of asgi.py, before Django is set up.
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]


def lifespan(app: Callable[[Any, Any, Any], Awaitable[None]]) -> Application:
    """`app`, with the rules read before its server lets requests in, and the last counts sent before the server ends.

    In asgi.py: ``application = lifespan(get_asgi_application())``. An app that implements the lifespan protocol still
    gets its messages; Django does not implement it. Without this the first request waits for the rules, and
    the counts of the last second are lost if the server exits without running exit handlers, as uvicorn does.
    """

    async def application(scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _Life(app, receive, send).live(scope)
        else:
            await app(scope, receive, send)

    return application


class _Life:
    """One run of the protocol: the app's own part, if it has one, with ours before each of its answers to the server."""

    def __init__(self, app: Callable[[Any, Any, Any], Awaitable[None]], receive: Receive, send: Send) -> None:
        self._app, self._from_server, self._to_server = app, receive, send
        self._received: set[str] = set()
        self._sent: set[str] = set()

    async def live(self, scope: MutableMapping[str, Any]) -> None:
        try:
            await self._app(scope, self._receive, self._send)
        except Exception:
            if self._sent:  # it implements the protocol, so this is an error of its own
                if self._sent == {"lifespan.startup.complete"}:
                    await _end()
                raise
        await self._go_on()

    async def _go_on(self) -> None:
        """Do what the app has left out: everything, if it does not implement the protocol."""
        if not self._sent:
            if "lifespan.startup" not in self._received:
                await self._receive()
            await self._send({"type": "lifespan.startup.complete"})
        if self._sent == {"lifespan.startup.complete"}:
            if "lifespan.shutdown" not in self._received:
                await self._receive()
            await self._send({"type": "lifespan.shutdown.complete"})

    async def _receive(self) -> Message:
        message = await self._from_server()
        self._received.add(message["type"])
        return message

    async def _send(self, message: Message) -> None:
        if message["type"] == "lifespan.startup.complete":
            from ratewindow.rulebook import current

            await current.arulebook()
        elif message["type"].startswith("lifespan.shutdown."):
            await _end()
        self._sent.add(message["type"])
        await self._to_server(message)


async def _end() -> None:
    from ratewindow import process
    from ratewindow.store import stores

    await asyncio.to_thread(process.end)
    await stores.aclose()
