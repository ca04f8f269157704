"""The site to which a replay sends, over http.client with keep-alive connections."""

import contextlib
import http.client
import ssl
from urllib.parse import urlsplit

from ratewindow.operations.logs.entry import Entry

TIMEOUT_S = 10.0


class Site:
    """Sends requests from any thread. A connection is reused as long as the server keeps it open."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{url!r} is not the address of a site: write for example http://127.0.0.1:8000")
        self._secure = parts.scheme == "https"
        self._host, self._port = parts.hostname, parts.port
        self._base = parts.path.rstrip("/")
        self._idle: list[http.client.HTTPConnection] = []  # `append` and `pop` are atomic

    def connect(self) -> http.client.HTTPConnection:
        """A new connection. Raises OSError if nothing answers."""
        if self._secure:
            secure = ssl.create_default_context()
            connection: http.client.HTTPConnection = http.client.HTTPSConnection(
                self._host, self._port, timeout=TIMEOUT_S, context=secure
            )
        else:
            connection = http.client.HTTPConnection(self._host, self._port, timeout=TIMEOUT_S)
        connection.connect()
        return connection

    def send(self, entry: Entry, address: str) -> int:
        """The status of the response. Raises OSError or HTTPException if there was none."""
        headers = {"X-Forwarded-For": address, "User-Agent": "ratewindow-replay"}
        # A server may close an idle connection at the moment of its use, and then it is unknown whether it saw the
        # request. So, as in browsers, only requests that are safe to repeat reuse a connection.
        if entry.method in ("GET", "HEAD"):
            with contextlib.suppress(ConnectionError, IndexError):
                return self._ask(self._idle.pop(), entry, headers)
        else:
            headers["Connection"] = "close"
        return self._ask(self.connect(), entry, headers)

    def _ask(self, connection: http.client.HTTPConnection, entry: Entry, headers: dict[str, str]) -> int:
        try:
            connection.request(entry.method, self._base + entry.target, headers=headers)
            answer = connection.getresponse()
            answer.read()
        except BaseException:
            connection.close()
            raise
        if answer.will_close:
            connection.close()
        else:
            self._idle.append(connection)
        return answer.status

    def close(self) -> None:
        while self._idle:
            self._idle.pop().close()
