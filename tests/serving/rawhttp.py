"""Requests as bytes on a socket, for what ordinary clients do not do: pipelining, leaving early, odd framing."""

import contextlib
import http.client
import io
import socket
from collections.abc import Iterator, Sequence
from typing import Any

from tests.serving.servers import Answer, Served

TIMEOUT_S = 20.0


def request(method: str, path: str, client: str, body: bytes = b"", **headers: str) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", f"X-Forwarded-For: {client}"]
    if body:
        lines.append(f"Content-Length: {len(body)}")
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


@contextlib.contextmanager
def connected(served: Served) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", served.port), TIMEOUT_S) as made:
        yield made


def answers(connection: socket.socket, methods: Sequence[str]) -> list[Answer]:
    """The answers to requests that were sent with these methods: all of them, or until the server hangs up."""
    found: list[Answer] = []
    with connection.makefile("rb") as stream:
        for method in methods:
            if not stream.peek(1):  # type: ignore[attr-defined]
                break
            response = http.client.HTTPResponse(_Kept(stream), method=method)  # type: ignore[arg-type]
            response.begin()
            found.append(Answer(response.status, response.getheaders(), response.read()))
    return found


class _Kept(io.RawIOBase):
    """A stream that outlives the response that is read from it: it has the next one's bytes already."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def makefile(self, *_: Any, **__: Any) -> Any:
        return self

    def read(self, size: int = -1) -> bytes:
        return bytes(self._stream.read(size))

    def readline(self, size: int | None = -1) -> bytes:
        return bytes(self._stream.readline(size))

    def readinto(self, buffer: Any) -> int:
        return int(self._stream.readinto(buffer))

    def close(self) -> None:
        """Only the test closes the connection."""
