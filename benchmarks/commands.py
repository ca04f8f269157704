"""The limiter's calls as commands, to be sent in pipelines and by load generators that know no limiter."""

from collections.abc import Iterable
from itertools import islice
from typing import Any

import redis

from ratewindow.limiter.redis.commands import Words, decide_call
from ratewindow.limiter.reply import decision, parse
from ratewindow.limiter.types import Check, Window

PIPELINE = 500


def hit(window: Window, key: str, now_ms: int | None = None, cost: int = 1) -> Words:
    return decide_call([_check(window, key, cost)], "hit", now_ms).by_sha()


def admits(window: Window, reply: list[int]) -> bool:
    checks = [_check(window, "", 1)]
    return decision(checks, parse(checks, reply)).allowed


def teach(client: redis.Redis, window: Window) -> None:
    """Let the server know the scripts, also the one for times that are told to it."""
    for now_ms in (None, 0):
        client.script_load(decide_call([_check(window, "", 1)], "hit", now_ms).script.source)


def send(client: redis.Redis, commands: Iterable[Words]) -> list[Any]:
    """All replies; the commands go some hundreds at a time."""
    replies: list[Any] = []
    rest = iter(commands)
    while batch := list(islice(rest, PIPELINE)):
        pipe = client.pipeline(transaction=False)
        for words in batch:
            pipe.execute_command(*words)
        replies += pipe.execute()
    return replies


def _check(window: Window, key: str, cost: int) -> Check:
    return Check("bench", (window,), (key,), cost)
