"""How the server's memory is weighed; the benchmarks weigh with it too, so it needs no pytest."""

import random
from collections.abc import Callable, Sequence
from typing import Any

import redis

from ratewindow.limiter import Limiter, RedisStore, Window
from tests.support.clock import Clock


def used(client: redis.Redis) -> int:
    told: Any = client.info("memory")
    return int(told["used_memory"])


def bytes_beyond_the_name(client: redis.Redis) -> float:
    """For each key what the server uses for it in full, without the characters of its name."""
    keys: Any = client.keys("*")
    usage: Any = client.memory_usage
    return float(max(usage(key, samples=0) - len(key) for key in keys))


def bytes_each(client: redis.Redis, fill: Callable[[], object]) -> float:
    """By the server's whole memory, which knows of tables and expiries too: what each key of `fill` takes, without its name."""
    before = used(client)
    fill()
    keys = client.keys("*")
    return (used(client) - before - sum(map(len, keys))) / len(keys)


def busy(client: redis.Redis, window: Window, costs: Sequence[int], calls: int = 150, clients: int = 5) -> None:
    """Clients that come for two periods, in every bucket, with small and large costs."""
    clock, dice = Clock(), random.Random(29)
    limiter = Limiter(RedisStore(client), clock_ms=clock, believed_ms=0)
    for _ in range(calls):
        clock.now_ms += 2 * window.period_ms // calls
        for number in range(clients):
            limiter.hit(f"user:{number}", [window], dice.choice(costs))
