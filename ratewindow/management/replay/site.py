"""The site that a replay talks to, over plain http.client: connections that are kept, and one answer's status."""

import contextlib
import http.client
import ssl
from urllib.parse import urlsplit

from ratewindow.management.replay.access_log import Entry

TIMEOUT_S = 10.0


class Site:
    """Where requests go, from any thread. A connection is kept for the next request while the server keeps it."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{url!r} is not the address of a site: write for example http://127.0.0.1:8000")
        self._secure = parts.scheme == "https"
        self._host, self._port = parts.hostname, parts.port
        self._base = parts.path.rstrip("/")
        self._kept: list[http.client.HTTPConnection] = []  # idle ones; taking and returning are one step each

    def connect(self) -> http.client.HTTPConnection:
        """A new connection; OSError when nothing answers there."""
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
        """The status of the answer; OSError or HTTPException when none came."""
        headers = {"X-Forwarded-For": address, "User-Agent": "ratewindow-replay"}
        # A server may close an idle connection just when we use it, and then nobody knows whether it saw the
        # request. As browsers do, only what is safe to send twice goes over a kept connection.
        if entry.method in ("GET", "HEAD"):
            with contextlib.suppress(ConnectionError, IndexError):
                return self._ask(self._kept.pop(), entry, headers)
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
            self._kept.append(connection)
        return answer.status

    def close(self) -> None:
        while self._kept:
            self._kept.pop().close()
