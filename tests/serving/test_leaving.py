"""Clients that leave at once, by the hundred, and traffic by the thousand: servers hold afterwards what they held before."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.serving.rawhttp import connected, request
from tests.serving.servers import Served, new_address, until

pytestmark = pytest.mark.slow

PATHS = ("/sync/", "/async/", "/slow/", "/aslow/", "/each/", "/path/")


def held(served: Served) -> dict[int, int]:
    """How many descriptors each worker has open: files, connections of clients, and those to Redis."""
    return {worker: answer.json()["descriptors"] for worker, answer in served.workers().items()}


def leave_at_once(served: Served, number: int) -> None:
    with connected(served) as connection:
        connection.sendall(request("GET", PATHS[number % len(PATHS)], new_address()))


def test_three_hundred_clients_that_leave_before_their_answer_leave_nothing_open(served: Served) -> None:
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda number: leave_at_once(served, number), range(100)))  # what is opened once, is open now
    until(lambda: served.statuses("/slow/", 1) == [200], "the site did not answer")
    connections, before = served.place.redis.info("clients")["connected_clients"], held(served)
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda number: leave_at_once(served, number), range(300)))
    # As many at the same moment as before may need as many connections; none more stays for each that left.
    until(lambda: max(held(served).values()) <= max(before.values()) + 16, "files or connections stayed open")
    until(lambda: served.place.redis.info("clients")["connected_clients"] <= connections + 16, "connections to Redis stayed open")
    assert served.statuses("/path/", 3) == [200, 200, 429]
    assert served.complaints() == []
