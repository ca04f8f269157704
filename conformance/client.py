"""A client as limiters meet it: from an address of its choice, with a browser's cookies or without."""

import http.client
import itertools
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from http.cookies import SimpleCookie
from urllib.parse import urlencode

THREADS = 16
TIMEOUT_S = 30.0
LOST = 599  # the status of a request that got no answer
REFUSALS = (403, 429, 503)
_addresses = itertools.count(1)


def new_address() -> str:
    """An address that no other client has, each in another /24, of the network for benchmarks (RFC 2544)."""
    number = next(_addresses)
    return f"198.18.{number % 250}.{number // 250 + 1}"


@dataclass(frozen=True)
class Answer:
    status: int
    headers: http.client.HTTPMessage
    body: str
    sent_at: float  # by this machine's clock, which is the server's
    seconds: float

    @property
    def ran(self) -> bool:
        """Whether the view itself has answered."""
        return self.status == 200 and self.body.startswith("ran ")

    @property
    def ran_at(self) -> float:
        """When it did, by the server's clock."""
        return float(self.body.split()[1])

    @property
    def refused(self) -> bool:
        return self.status in REFUSALS

    @property
    def broken(self) -> bool:
        """Neither the view's answer nor a refusal."""
        return not self.ran and not self.refused


@dataclass
class Client:
    port: int
    address: str = field(default_factory=new_address)
    cookies: dict[str, str] = field(default_factory=dict)

    def get(self, path: str, **headers: str) -> Answer:
        return self._send("GET", path, headers, None)

    def post(self, path: str, **fields: str) -> Answer:
        return self._send("POST", path, {"Content-Type": "application/x-www-form-urlencoded"}, urlencode(fields))

    def several(self, path: str, count: int) -> list[Answer]:
        return [self.get(path) for _ in range(count)]

    def at_once(self, path: str, count: int) -> list[Answer]:
        with ThreadPoolExecutor(THREADS) as pool:
            return list(pool.map(lambda _: self.get(path), range(count)))

    def _send(self, method: str, path: str, headers: dict[str, str], body: str | None) -> Answer:
        """Over a connection of its own, since a limiter's processes share out connections."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()} | {"X-Peer": self.address}
        if self.cookies:
            sent["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT_S)
        sent_at, started = time.time(), time.monotonic()
        try:
            connection.request(method, path, body, sent)
            response = connection.getresponse()
            text = response.read().decode("utf-8", "replace").strip('"')
        except (OSError, http.client.HTTPException) as error:
            return Answer(LOST, http.client.HTTPMessage(), repr(error), sent_at, time.monotonic() - started)
        finally:
            connection.close()
        for line in response.headers.get_all("Set-Cookie") or ():
            self.cookies.update({name: morsel.value for name, morsel in SimpleCookie(line).items()})
        return Answer(response.status, response.headers, text, sent_at, time.monotonic() - started)


def ran(answers: Iterable[Answer]) -> int:
    return sum(answer.ran for answer in answers)


def statuses(answers: Iterable[Answer]) -> str:
    """Such as "5 x 200, 2 x 429"."""
    seen = [answer.status for answer in answers]
    return ", ".join(f"{seen.count(status)} x {status}" for status in sorted(set(seen)))
