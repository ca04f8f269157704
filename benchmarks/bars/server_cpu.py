"""What a decision costs the server: the main thread's CPU time, which is what all clients share."""

import time
from collections.abc import Sequence
from typing import Any

import redis

from benchmarks.pipelined import RANDOM, driver, load
from benchmarks.tables import Row, Section
from benchmarks.timing import Times
from ratewindow import connection
from ratewindow.limiter.types import Check, Window
from ratewindow.limiter.wire import decide_call

AT_MOST = 6.0
CALLS = 30_000
ROUNDS = 7

# name: limit of a window of a minute in 60 buckets, different clients, in how many buckets each has been before
CASES = {
    "5/m, 100,000 clients, most of them new": (5, 100_000, 0),
    "1000/m, 1,000 clients": (1000, 1000, 0),
    "1000/m, 1,000 clients, every bucket in use": (1000, 1000, 60),
    "1000/m, one client": (100_000, 1, 0),
    "5/m, one client, refused": (5, 1, 0),
    "60/m, 100 clients, every bucket in use, refused": (60, 100, 60),
}
FLOOR = "floor: EVALSHA 'return 1'"


def measure() -> Section:
    client = connection.client()
    title = "Server CPU of a decision"
    if "used_cpu_user_main_thread" not in client.info("cpu"):
        return Section(title, "Not measured: this server does not tell the CPU time of its main thread.")
    about = (
        f"CPU time of the server's main thread for one call of the shipped script, one `sliding_window` of 60 buckets, by "
        f"`INFO cpu` around {CALLS:,} calls from {driver()}, 16 in a pipeline."
    )
    commands: dict[str, tuple[Sequence[Any], int]] = {FLOOR: (["EVALSHA", client.script_load("return 1"), "0"], 1)}
    for number, (name, (limit, keys, fill)) in enumerate(CASES.items()):
        check = Check("bench", (Window(limit, 60_000),), (f"bench{number}:{RANDOM}",))
        call = decide_call([check], "hit", None)
        client.script_load(call.script.source)
        commands[name] = (call.by_sha(), keys)
        _fill(client, check, keys, fill)
    taken: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(ROUNDS):
        for name, (words, keys) in commands.items():
            taken[name].append(_cpu_us(client, words, keys))
    times = {name: Times(numbers) for name, numbers in taken.items()}
    return Section(title, about, [_row(name, times) for name in times])


def _row(name: str, times: dict[str, Times]) -> Row:
    return Row(name, times[name], times[name].ratio(times[FLOOR]), None if name == FLOOR else AT_MOST)


def _cpu_us(client: redis.Redis, words: Sequence[Any], keys: int) -> float:
    before = _main_thread_s(client)
    load(client, words, CALLS, keys)
    return (_main_thread_s(client) - before) / CALLS * 1e6


def _main_thread_s(client: redis.Redis) -> float:
    info: Any = client.info("cpu")
    return float(info["used_cpu_user_main_thread"] + info["used_cpu_sys_main_thread"])


def _fill(client: redis.Redis, check: Check, keys: int, buckets: int) -> None:
    """Let every client have been there in each of the newest `buckets` seconds."""
    now_ms = int(time.time()) * 1000
    for second in range(buckets, 0, -1):
        pipe = client.pipeline(transaction=False)
        for number in range(keys):
            key = check.keys[0].replace(RANDOM, f"{number:012}")
            pipe.execute_command(*decide_call([check._replace(keys=(key,))], "hit", now_ms - (second - 1) * 1000).by_sha())
        pipe.execute()
