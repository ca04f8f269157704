"""The floor of every ratio: a script that does nothing, called over the limiter's own kind of client."""

from typing import Any

from benchmarks.timing import Contestant
from ratewindow.store import process_clients

NAME = "floor: evalsha('return 1')"


def floor() -> Contestant:
    client = process_clients.client()
    sha: Any = client.script_load("return 1")
    return Contestant(lambda _: client.evalsha(sha, 0))
