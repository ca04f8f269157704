"""How many of a crowd get through a limit: right decisions matter as much as fast ones."""

import threading
from collections.abc import Callable
from typing import Any

from benchmarks.site import requests

THREADS = 16
REQUESTS = 400


def admitted(limited: Callable[[Any], Any], address: str) -> int:
    """Of `REQUESTS` requests of one address, from `THREADS` threads at once, those answered with 200."""
    make, start = requests(address=address), threading.Barrier(THREADS)
    passed: list[int] = []

    def client() -> None:
        mine = make(REQUESTS // THREADS)
        start.wait()
        passed.append(sum(limited(request).status_code == 200 for request in mine))

    threads = [threading.Thread(target=client) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(passed)
