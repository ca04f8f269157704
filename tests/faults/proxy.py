"""A small TCP proxy in front of a Redis, which does to the traffic what networks and bad servers do."""

import contextlib
import itertools
import socket
import threading
from collections.abc import Callable, Iterator

NIL = b"$-1\r\n"
SHORT = b"*1\r\n:1\r\n"
GARBAGE = b"\x16\x03\x01HTTP/1.1 400 Bad Request\r\n\r\n"


class Proxy:
    """Listens on a port of its own; `connections` is how many it has accepted, `calls` how many pieces clients sent,
    `states` how many states of clients they have asked about: decisions, without housekeeping's own.

    What it does can be changed at any moment, and acts on connections that are open, too.
    """

    def __init__(self, port: int) -> None:
        self.server = ("127.0.0.1", port)
        self.connections = self.calls = self.states = 0
        self._handle: Callable[[socket.socket, socket.socket, bytes], None] = _pass_on
        self._reply: Callable[[socket.socket, bytes], None] = _send
        self._accepts = True
        self._ended = threading.Event()
        self._open: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._begin(self._accept)

    @property
    def port(self) -> int:
        return int(self._listener.getsockname()[1])

    def close(self) -> None:
        self._ended.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()
        for thread in self._threads:
            thread.join()

    def cut(self) -> None:
        """Close every connection."""
        for each in list(self._open):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    @contextlib.contextmanager
    def black_hole(self) -> Iterator[None]:
        """Everything is swallowed, in both directions."""
        with self._doing(handle=_swallow, reply=lambda *_: None):
            yield

    @contextlib.contextmanager
    def reset(self) -> Iterator[None]:
        """Whoever sends something is cut off without a word."""
        with self._doing(handle=_reset):
            yield

    @contextlib.contextmanager
    def turned_away(self) -> Iterator[None]:
        """Open connections end, and new ones are closed as soon as they are open."""
        self._accepts = False
        self.cut()
        try:
            yield
        finally:
            self._accepts = True

    @contextlib.contextmanager
    def lost_replies(self) -> Iterator[None]:
        """The server is asked, and what it answers is lost."""
        with self._doing(reply=lambda *_: None):
            yield

    @contextlib.contextmanager
    def every_second_reply_lost(self) -> Iterator[None]:
        """Of those to scripts."""
        turns = itertools.count()

        def handle(client: socket.socket, server: socket.socket, data: bytes) -> None:
            if b"EVALSHA" not in data or next(turns) % 2:
                server.sendall(data)

        with self._doing(handle=handle):
            yield

    @contextlib.contextmanager
    def drip(self, pause_s: float) -> Iterator[None]:
        """An answer comes a byte at a time."""

        def reply(client: socket.socket, data: bytes) -> None:
            for place in range(len(data)):
                if self._ended.wait(pause_s):
                    return
                client.sendall(data[place : place + 1])

        with self._doing(reply=reply):
            yield

    @contextlib.contextmanager
    def latency(self, delay_s: float) -> Iterator[None]:
        """Answers are late."""

        def reply(client: socket.socket, data: bytes) -> None:
            if not self._ended.wait(delay_s):
                client.sendall(data)

        with self._doing(reply=reply):
            yield

    @contextlib.contextmanager
    def answers(self, what: bytes) -> Iterator[None]:
        """Whatever is asked, this is the answer; the server never hears of it."""
        with self._doing(handle=lambda client, _, __: client.sendall(what)):
            yield

    @contextlib.contextmanager
    def _doing(
        self,
        handle: Callable[[socket.socket, socket.socket, bytes], None] | None = None,
        reply: Callable[[socket.socket, bytes], None] | None = None,
    ) -> Iterator[None]:
        before = self._handle, self._reply
        self._handle, self._reply = handle or self._handle, reply or self._reply
        try:
            yield
        finally:
            self._handle, self._reply = before
            self.cut()  # what was done to a connection is not undone: half an answer would be left on it

    def _accept(self) -> None:
        while not self._ended.is_set():
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            if not self._accepts:
                client.close()
                continue
            try:
                server = socket.create_connection(self.server)
            except OSError:
                client.close()
                continue
            self._open |= {client, server}
            self._begin(self._ask, client, server)
            self._begin(self._answer, client, server)

    def _ask(self, client: socket.socket, server: socket.socket) -> None:
        def on(data: bytes) -> None:
            self.calls += 1
            self.states += data.count(b"rw:s:") - data.count(b"rw:s:probe")
            self._handle(client, server, data)

        self._pump(client, server, on)

    def _answer(self, client: socket.socket, server: socket.socket) -> None:
        self._pump(server, client, lambda data: self._reply(client, data))

    def _pump(self, source: socket.socket, other: socket.socket, on: Callable[[bytes], None]) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                on(data)
        for each in (source, other):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        self._open.discard(source)
        source.close()

    def _begin(self, work: Callable[..., None], *arguments: socket.socket) -> None:
        thread = threading.Thread(target=work, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()


def _pass_on(client: socket.socket, server: socket.socket, data: bytes) -> None:
    server.sendall(data)


def _send(client: socket.socket, data: bytes) -> None:
    client.sendall(data)


def _swallow(client: socket.socket, server: socket.socket, data: bytes) -> None:
    pass


def _reset(client: socket.socket, server: socket.socket, data: bytes) -> None:
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")  # closed by RST, not by FIN
    client.shutdown(socket.SHUT_RD)
    client.close()
    raise ConnectionResetError


@contextlib.contextmanager
def proxied(port: int) -> Iterator[Proxy]:
    """A proxy in front of the server at this port."""
    proxy = Proxy(port)
    try:
        yield proxy
    finally:
        proxy.close()
