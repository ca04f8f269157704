"""A real HTTP server on loopback that receives webhooks."""

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any


class Receiver:
    """`received` are path, headers and body of each request; `status` is what it answers, None for nothing."""

    def __init__(self) -> None:
        self.received: list[tuple[str, Any, bytes]] = []
        self.status: int | None = 204
        self.ended = Event()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.received.append((self.path, self.headers, body))
                if receiver.status is None:
                    receiver.ended.wait()
                    return
                self.send_response(receiver.status)
                self.send_header("Location", "/elsewhere")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *args: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}/hook?team=ops"


@contextmanager
def receiving() -> Iterator[Receiver]:
    receiver = Receiver()
    thread = Thread(target=receiver.server.serve_forever, daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        receiver.ended.set()
        receiver.server.shutdown()
        thread.join()
        receiver.server.server_close()
