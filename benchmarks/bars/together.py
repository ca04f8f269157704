"""Decisions that wait at the same moment on asyncio: the client's CPU time of fifty at once."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

import redis.asyncio

from benchmarks.commands import hit
from benchmarks.tables import Section, Timed
from benchmarks.timing import in_turns
from ratewindow.limiter import AsyncRedisStore, Limiter
from ratewindow.limiter.rates import parse_rates
from ratewindow.store import process_clients

AT_MOST = 0.5
AT_ONCE = 50
CROWDS = 6  # in a turn
ROUNDS = 30
FLOOR = "floor: redis.asyncio, evalsha('return 1')"
OURS = "`Limiter.ahit`"
TASKS = "fifty tasks that ask nothing"
PACKING = "a decision's command, packed by redis-py"


def measure() -> Section:
    client = process_clients.async_client()
    limiter, windows = Limiter(AsyncRedisStore(client), prefix="bench"), parse_rates("1000/m")
    wire = redis.asyncio.Connection()  # never connected
    with asyncio.Runner() as runner:
        sha: Any = runner.run(_loaded(client, "return 1"))
        calls: dict[str, Callable[[int], Awaitable[object]]] = {
            FLOOR: lambda _: client.evalsha(sha, 0),
            OURS: lambda number: limiter.ahit(f"user:{number}", windows),
            TASKS: _nothing,
            PACKING: lambda number: _nothing(wire.pack_command(*hit(windows[0], f"bench:{number}"))),
        }
        times = in_turns({name: _crowds(runner, call) for name, call in calls.items()}, ROUNDS)
        runner.run(client.aclose())
    return Section(
        "Fifty at once on asyncio",
        f"CPU time of the client for each of {AT_ONCE} calls that wait at the same moment: one Redis call each, and decisions, "
        "which share pipelines on one connection.",
        [Timed(name, (), AT_MOST if name == OURS else None, times[name], times[FLOOR]) for name in times],
        why=(
            f"Why more: of the {times[OURS].median_us:.0f} µs {times[TASKS].median_us:.0f} are asyncio's for a task of its own, "
            f"{times[PACKING].median_us - times[TASKS].median_us:.0f} go into a command of a dozen words if redis-py packs it; "
            "the rest is its name, its answer, and the `Decision`."
        ),
    )


def _crowds(runner: asyncio.Runner, call: Callable[[int], Awaitable[object]]) -> Callable[[], float]:
    async def crowds() -> float:
        started_ns = time.process_time_ns()
        for _ in range(CROWDS):
            await asyncio.gather(*[call(number) for number in range(AT_ONCE)])
        return (time.process_time_ns() - started_ns) / (CROWDS * AT_ONCE) / 1000

    return lambda: runner.run(crowds())


async def _loaded(client: redis.asyncio.Redis, script: str) -> Any:
    return await client.script_load(script)


async def _nothing(_: object) -> None:
    pass
