"""The structures that other limiters keep in Redis, corrected, and ours, asked in the same way.

Corrected: one atomic script each, refused requests are not recorded, an expiry is set with every write, and a
request of several units counts as so many. What is left to compare is the structure itself.
"""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import redis

from benchmarks import commands
from ratewindow.limiter.redis.commands import Words
from ratewindow.limiter.types import Window

PERIOD_MS = 60_000
_FOLDER = Path(__file__).parent
_THEIRS = {
    "sorted set, a log": "sorted_set",
    "stream, a log": "stream",
    "hash of ten sub-windows": "hash",
    "string, a fixed window": "string",
}
OURS = ("sliding_window", "sliding_log", "sliding_estimate", "fixed_window", "token_bucket", "leaky_bucket")


class Structure(NamedTuple):
    """`words(key, now_ms)` is the command that decides one request; `admits(reply)` reads what it answered."""

    words: Callable[[str, int | None], Words]
    admits: Callable[[list[int]], bool]


def structures(client: redis.Redis, limit: int) -> dict[str, Structure]:
    """All of them by name, ours first, at `limit` a minute."""
    ours = {name: our(client, Window(limit, PERIOD_MS, name)) for name in OURS}
    return ours | {name: _their(client, file, limit) for name, file in _THEIRS.items()}


def our(client: redis.Redis, window: Window) -> Structure:
    commands.teach(client, window)
    return Structure(lambda key, now_ms: commands.hit(window, key, now_ms), lambda reply: commands.admits(window, reply))


def _their(client: redis.Redis, file: str, limit: int) -> Structure:
    sha = client.script_load((_FOLDER / f"{file}.lua").read_text("utf-8"))

    def words(key: str, now_ms: int | None) -> Words:
        return ["EVALSHA", str(sha), 1, key, limit, PERIOD_MS, 1, "" if now_ms is None else now_ms]

    return Structure(words, bool)
