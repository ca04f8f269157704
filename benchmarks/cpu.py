"""CPU time of the server's main thread, which is what all clients share."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import redis

from benchmarks.pipelined import load

FLOOR = "floor: EVALSHA 'return 1'"
UNTOLD = "Not measured: this server does not tell the CPU time of its main thread."


def told(client: redis.Redis) -> bool:
    return "used_cpu_user_main_thread" in client.info("cpu")


def taken(client: redis.Redis, words: Sequence[Any], calls: int, keys: int = 1) -> Callable[[], float]:
    """A measure for `in_turns`: the command `words`, with random numbers below `keys` in it."""
    return partial(_taken_us, client, words, calls, keys)


def floor(client: redis.Redis, calls: int) -> Callable[[], float]:
    return taken(client, ["EVALSHA", client.script_load("return 1"), "0"], calls)


def _taken_us(client: redis.Redis, words: Sequence[Any], calls: int, keys: int) -> float:
    before_s = main_thread_s(client)
    load(client, words, calls, keys)
    return (main_thread_s(client) - before_s) / calls * 1e6


def main_thread_s(client: redis.Redis) -> float:
    info: Any = client.info("cpu")
    return float(info["used_cpu_user_main_thread"] + info["used_cpu_sys_main_thread"])
