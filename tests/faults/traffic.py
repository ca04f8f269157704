"""Steady traffic on a site that a server serves, and what each request of it met."""

import contextlib
import http.client
import math
import threading
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import NamedTuple

from tests.serving.servers import Served, exchange

MOST_REQUESTS = 200_000  # of one asker: a test that forgets to stop ends all the same
MOST_S = 1_200.0
REQUESTS_OF_A_CONNECTION = 5  # else all askers might sit at one worker, and another would notice nothing


class Sample(NamedTuple):
    sent_s: float  # by time.monotonic
    answered_s: float
    status: int  # 0: no answer, the worker has gone
    cause: str  # why it was decided without the store
    gate_ms: float  # what the gate took of it
    queued_ms: float  # and of that, waiting for a processor
    worker: int
    path: str
    client: str


class Traffic:
    """So many clients, each in a thread and on a connection of its own, that ask until the block ends."""

    def __init__(
        self, served: Served, paths: Sequence[str] = ("/many/",), askers: int = 4, pause_s: float = 0.005, clients: int = 0
    ) -> None:
        """`clients` is how many names all askers have together; each has one of its own where it is 0."""
        self._served, self._paths, self._askers, self._pause_s, self._clients = served, paths, askers, pause_s, clients
        self._done = threading.Event()
        self._threads: list[threading.Thread] = []
        self._asked_s = [math.inf] * askers  # when each sent what it waits for the answer of
        self.samples: list[Sample] = []

    def __enter__(self) -> "Traffic":
        self._threads = [threading.Thread(target=self._ask, args=(number,)) for number in range(self._askers)]
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self._done.set()
        for thread in self._threads:
            thread.join()

    def since(self, moment_s: float) -> list[Sample]:
        """What was asked after this moment."""
        return [sample for sample in self.samples if sample.sent_s >= moment_s]

    def until(self, holds: Callable[[], bool], otherwise: str, timeout_s: float = 30.0) -> None:
        deadline_s = time.monotonic() + timeout_s
        while not holds():
            assert time.monotonic() < deadline_s, f"{otherwise}; last: {self.samples[-8:]}\n{self._served.said()[-2000:]}"
            time.sleep(0.01)  # between two looks, not in the hope of anything

    def wait_for(self, count: int) -> None:
        """Until so many more have been answered."""
        wanted = len(self.samples) + count
        self.until(lambda: len(self.samples) >= wanted, f"no {count} more answers")

    def settle(self) -> None:
        """Until all that are under way now have been answered."""
        moment_s = time.monotonic()
        self.until(lambda: all(each >= moment_s for each in self._asked_s), "a request goes on and on")

    def _ask(self, asker: int) -> None:
        connection = self._served.connection(timeout_s=30.0)
        ends_s = time.monotonic() + MOST_S
        for number in range(MOST_REQUESTS):
            if self._done.wait(self._pause_s) or time.monotonic() > ends_s:
                break
            path = self._paths[number % len(self._paths)]
            client = f"client-{number // len(self._paths) % self._clients if self._clients else asker}"
            if number % REQUESTS_OF_A_CONNECTION == 0:
                connection.close()  # it opens itself again, perhaps to another worker
            self._asked_s[asker] = sent_s = time.monotonic()
            try:
                answer = exchange(connection, "GET", path, f"198.51.100.{asker + 1}", X_Client=client)
            except (OSError, http.client.HTTPException):
                connection.close()  # the worker has gone
                self.samples.append(Sample(sent_s, time.monotonic(), 0, "", 0.0, 0.0, 0, path, client))
                continue
            finally:
                self._asked_s[asker] = math.inf
            gate_ms, queued_ms = float(answer["X-Gate-Us"]) / 1000, float(answer["X-Queued-Us"]) / 1000
            told = (answer.status, answer["X-Cause"], gate_ms, queued_ms, answer.worker, path, client)
            self.samples.append(Sample(sent_s, time.monotonic(), *told))
        with contextlib.suppress(OSError):
            connection.close()


def breakers(served: Served) -> set[str]:
    """How the breakers of all its workers stand."""
    return {str(answer.json()["breaker"]) for answer in served.workers().values()}
