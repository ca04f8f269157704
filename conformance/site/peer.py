"""The server's doors: a request comes from the address that the header X-Peer names, as if its connection did."""

from typing import Any


def wsgi(application: Any) -> Any:
    def with_peer(environ: dict[str, Any], start_response: Any) -> Any:
        environ["REMOTE_ADDR"] = environ.pop("HTTP_X_PEER", environ["REMOTE_ADDR"])
        return application(environ, start_response)

    return with_peer


def asgi(application: Any) -> Any:
    async def with_peer(scope: dict[str, Any], receive: Any, send: Any) -> None:
        peers = [value.decode() for name, value in scope.get("headers", ()) if name == b"x-peer"]
        if peers:
            scope = scope | {"client": (peers[0], 4711), "headers": [each for each in scope["headers"] if each[0] != b"x-peer"]}
        await application(scope, receive, send)

    return with_peer
