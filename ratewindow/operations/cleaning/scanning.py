"""All keys of a server that are named like states, a few at a time."""

import re
from collections.abc import Iterator
from typing import NamedTuple, cast

import redis

from ratewindow.store import state_keys

COUNT = 200  # hash buckets of the server in one call: a fraction of a millisecond


class Key(NamedTuple):
    name: bytes
    tags: str  # the 16 characters that name rule and window


def scan(master: redis.Redis, cursor: int) -> Iterator[tuple[list[Key], int]]:
    """The keys of each call with the next cursor, 0 after the last. Those that are there all the time are shown at least once."""
    prefix = state_keys.state_prefix()
    ours = re.compile(re.escape(prefix).encode() + rb"([A-Za-z0-9_-]{16}):\{[^{}]*\}\Z")
    while True:
        cursor, names = cast("tuple[int, list[bytes]]", master.scan(cursor, f"{prefix}*", COUNT))
        yield [Key(name, match[1].decode()) for name in names if (match := ours.match(name))], cursor
        if cursor == 0:
            return


def identity_of(master: redis.Redis) -> str:
    """A name of the server, for as long as it runs: a cursor means something to no other one."""
    return str(master.info("server").get("run_id", ""))
