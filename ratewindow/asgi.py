"""The site's lifespan under an ASGI server: rules before the first request, counts and connections after the last one."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

# Nothing of ours is imported here: this module is, at the head of asgi.py, before Django is set up.
Application = Callable[[Any, Any, Any], Awaitable[None]]


def lifespan(app: Application) -> Application:
    """`app`, with the rules read before its server lets requests in, and the last counts sent before the server ends.

    In asgi.py: ``application = lifespan(get_asgi_application())``. It answers the lifespan protocol in the place of Django,
    which does not implement it; an app that does goes around this one. Without this the first request waits for the rules, and
    the counts of the last second are lost if the server exits without running exit handlers, as uvicorn does.
    """

    async def application(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await _live(receive, send)
        else:
            await app(scope, receive, send)

    return application


async def _live(receive: Any, send: Any) -> None:
    from ratewindow import process
    from ratewindow.rulebook import current
    from ratewindow.store import stores

    await receive()
    await current.arulebook()
    await send({"type": "lifespan.startup.complete"})
    await receive()
    await asyncio.to_thread(process.end)
    await stores.aclose()
    await send({"type": "lifespan.shutdown.complete"})
