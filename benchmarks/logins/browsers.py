"""Browsers that ask a real server over HTTP: each with cookies, and an address that a proxy would tell of it."""

import contextlib
import http.client
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from http.cookies import SimpleCookie
from typing import TypeVar

from benchmarks.logins.ways import Message

Job = TypeVar("Job")
Result = TypeVar("Result")
AT_ONCE = 50
# Django takes any cookie of this form for a token of its own, if the header says the same.
_CSRF_TOKEN = "c" * 32


@dataclass(frozen=True)
class Answer:
    status: int
    location: str
    sent_s: float
    took_ms: float


class Browser:
    def __init__(self, port: int, address: str) -> None:
        self._port, self.address = port, address
        self.cookies = {"csrftoken": _CSRF_TOKEN}

    def send(self, message: Message) -> Answer:
        """On a connection of its own: who keeps one open keeps a process of the server."""
        headers = {
            "Content-Type": message.content_type,
            "Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items()),
            "X-CSRFToken": self.cookies["csrftoken"],
            "X-Forwarded-For": self.address,
            **message.headers,
        }
        sent_s = time.monotonic()
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)) as connection:
            connection.request(message.method, message.path, message.body or None, headers)
            answer = connection.getresponse()
            answer.read()
        took_ms = (time.monotonic() - sent_s) * 1000
        for line in answer.headers.get_all("Set-Cookie", []):
            self.cookies |= {name: cookie.value for name, cookie in SimpleCookie(line).items()}
        return Answer(answer.status, answer.headers.get("Location", ""), sent_s, took_ms)

    def end_session(self) -> None:
        self.cookies.pop("sessionid", None)


def at_once(do: Callable[[Job], Result], jobs: Iterable[Job], clients: int = AT_ONCE) -> Sequence[Result]:
    """The results of all jobs, so many of which are done at the same time."""
    with ThreadPoolExecutor(clients) as pool:
        return list(pool.map(do, jobs))
