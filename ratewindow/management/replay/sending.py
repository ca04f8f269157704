"""Sends a log's requests when they are due, those of each client in order, and counts the responses."""

import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from ratewindow.management.replay.site import Site
from ratewindow.operations.backtest.addresses import Addresses
from ratewindow.operations.logs.entry import Entry

WORKERS = 32
MOST_WAITING = 10_000  # if the site is slower than the pace, reading the log waits for it
REPORT_EVERY_S = 0.25


@dataclass
class Outcome:
    """The responses. `statuses` are numbers, or the name of the error if there was no response."""

    statuses: Counter[int | str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)  # 429s by client, as the log names it
    latest_s: float = 0.0  # the longest time by which a request was sent late
    took_s: float = 0.0
    interrupted: bool = False

    @property
    def total(self) -> int:
        return self.statuses.total()


class Sender:
    """Sends one request of each client at a time, and those of different clients concurrently."""

    def __init__(self, site: Site, addresses: Addresses) -> None:
        self._site, self._addresses = site, addresses
        self._queues: dict[str, deque[tuple[float, Entry]]] = {}  # a client is in here while it has requests
        self._waiting = 0
        self._changed = threading.Condition()
        self._outcome = Outcome()
        self._stopped = False

    def run(self, schedule: Iterable[tuple[float, Entry]], report: Callable[[Outcome], None]) -> Outcome:
        """Send all requests; calls `report` a few times a second. Ctrl-C ends it early."""
        self._started, self._reported_s = time.monotonic(), 0.0
        self._report = report
        with ThreadPoolExecutor(WORKERS, "replay") as self._pool:
            try:
                for due_s, entry in schedule:
                    self._wait_until(due_s, MOST_WAITING - 1)
                    self._hand_over(due_s, entry)
                self._wait_until(0.0, 0)
            except KeyboardInterrupt:
                self._stopped = self._outcome.interrupted = True
                self._pool.shutdown(cancel_futures=True)
        self._outcome.took_s = self._elapsed()
        return self._outcome

    def _elapsed(self) -> float:
        return time.monotonic() - self._started

    def _wait_until(self, due_s: float, most_waiting: int) -> None:
        """Wait until it is time and at most so many requests are waiting; report meanwhile."""
        with self._changed:
            while True:
                if self._elapsed() - self._reported_s >= REPORT_EVERY_S:
                    self._reported_s = self._elapsed()
                    self._report(self._outcome)
                ahead_s = due_s - self._elapsed()
                if ahead_s <= 0 and self._waiting <= most_waiting:
                    return
                self._changed.wait(min(ahead_s, REPORT_EVERY_S) if ahead_s > 0 else REPORT_EVERY_S)

    def _hand_over(self, due_s: float, entry: Entry) -> None:
        with self._changed:
            self._waiting += 1
            queue = self._queues.setdefault(entry.client, deque())
            queue.append((due_s, entry))
            self._addresses.of(entry.client)  # in the order of the log, so that every run assigns the same ones
            if len(queue) == 1:
                self._pool.submit(self._send_next, entry.client)

    def _send_next(self, client: str) -> None:
        due_s, entry = self._queues[client][0]
        behind_s = self._elapsed() - due_s
        try:
            status: int | str = self._site.send(entry, self._addresses.of(client))
        except Exception as error:  # the replay goes on, and the summary names the error
            status = type(error).__name__
        with self._changed:
            self._outcome.statuses[status] += 1
            self._outcome.latest_s = max(self._outcome.latest_s, behind_s)
            if status == 429:
                self._outcome.refused[client] += 1
            self._waiting -= 1
            self._queues[client].popleft()
            if not self._queues[client]:
                del self._queues[client]
            elif not self._stopped:
                self._pool.submit(self._send_next, client)
            if self._waiting in (0, MOST_WAITING - 1):
                self._changed.notify()
