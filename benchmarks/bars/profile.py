"""The profile behind the bars of wall time: what each step of a request takes, from the socket to the headers."""

import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import redis

from benchmarks.bars.windows import FIVE
from benchmarks.floor import NAME as FLOOR, floor
from benchmarks.site import CLIENTS, requests, view
from benchmarks.stopwatch import Step, timing
from benchmarks.tables import Row, Section
from benchmarks.timing import Contestant, Times, turn_us
from ratewindow import ratelimit
from ratewindow.counting.counters import Counters
from ratewindow.limiter import Limiter, RedisStore, Window, limiter
from ratewindow.limiter.rates import parse_rates
from ratewindow.limiter.redis import connections, store
from ratewindow.limiter.redis.commands import decide_call, packed
from ratewindow.limiter.types import Check
from ratewindow.request import decide, guard, headers, prepare
from ratewindow.store import process_clients

ROUNDS = 60
CALLS = 40
REQUEST, ONE, SEVERAL, KNOWN = "a request, decorated", "`Limiter.hit`", "five windows", "a refusal known"
LINE = "to the server and back: `return 1`, a bare socket"
SCRIPT = "the script, its longer command and reply"
READING = "more of both amid other work, and the reply as numbers"
REST = "the rest: one step calling another"

# Two functions, or three, may make one step; the order is the table's.
STEPS = (
    Step("which rules hold", guard.Passage, "__init__"),
    Step("which rules hold", guard.Passage, "prepare"),
    Step("who asks, and the names of keys", guard, "ask"),
    Step("who asks, and the names of keys", prepare, "_check"),
    Step("who asks, and the names of keys", Limiter, "_checks"),
    Step("refusals known, and the breaker", decide, "_known"),
    Step("refusals known, and the breaker", decide, "_answered"),
    Step("the command, packed", store, "packed_decide"),
    Step("a connection of the thread's own", connections.Server, "exchange"),
    Step(READING, connections, "exchange"),
    Step("the `Decision`", decide, "decision_of"),
    Step("the `Decision`", limiter, "decision"),
    Step("the headers", headers, "write"),
    Step("counts for the report", Counters, "record"),
)


def measure() -> Section:
    client = process_clients.client()
    asking, one, five = Limiter(RedisStore(client), prefix="bench"), parse_rates("1000/m"), parse_rates(FIVE)
    decorated, make = ratelimit("bench.profile", "1000/m")(view), requests("/profile/")
    columns = {
        REQUEST: Contestant(decorated, make),
        ONE: Contestant(lambda number: asking.hit(f"profile-one:{number}", one)),
        SEVERAL: Contestant(lambda number: asking.hit(f"profile-five:{number}", five)),
    }
    with _bare_socket(client) as over:
        line = Contestant(over([packed(["EVALSHA", client.script_load("return 1"), 0])]))  # type: ignore[list-item]
        lines = {name: Contestant(over(_commands(client, name, five if name == SEVERAL else one))) for name in columns}
        us = _measured({FLOOR: floor(), LINE: line} | {f"{name}, line": each for name, each in lines.items()}, columns)
    told = {name: _steps(us, name) for name in columns}
    steps = [LINE, SCRIPT, *dict.fromkeys(step.name for step in STEPS), REST]
    rows = [Row(step, tuple(f"{told[name][step]:.1f}" if told[name][step] else "" for name in columns)) for step in steps]
    rows.append(Row("all of it", tuple(f"{us[name]:.1f}" for name in columns)))
    rows.append(Row(FLOOR, tuple(f"{us[FLOOR]:.1f}" for _ in columns)))
    return Section(
        "Where the time goes",
        "Microseconds of each step of a request through a decorator with one rule of 1000/m, and of `Limiter.hit` with one "
        f"window and five ({FIVE}): medians, each by a stopwatch that stops while another step runs. The first two "
        "lines are measured over a socket that does nothing else; amid other work the same takes longer.",
        rows,
        ("", *columns),
        is_printed=True,
    )


def _measured(lines: dict[str, Contestant], columns: dict[str, Contestant]) -> dict[str, float]:
    """Medians of rounds: of every line and column as it is, and of the steps of each column."""
    taken: dict[str, list[float]] = {}
    for _ in range(ROUNDS + 1):
        for name, each in {**lines, **columns}.items():
            taken.setdefault(name, []).append(turn_us(each, CALLS))
        for name, each in columns.items():
            with timing(STEPS) as watches:
                turn_us(each, CALLS)
            for step, us in watches.take_us(CALLS).items():
                taken.setdefault(f"{name}, {step}", []).append(us)
    return {name: Times(rounds[1:]).median_us for name, rounds in taken.items()}


def _steps(us: dict[str, float], name: str) -> dict[str, float]:
    """What a column's steps take, which together is the whole."""
    line_us = us[f"{name}, line"]
    steps = {step.name: us[f"{name}, {step.name}"] for step in STEPS}
    steps |= {LINE: us[LINE], SCRIPT: line_us - us[LINE], READING: max(0.0, steps[READING] - line_us)}
    return steps | {REST: max(0.0, us[name] - sum(steps.values()))}


@contextmanager
def _bare_socket(client: redis.Redis) -> Iterator[Callable[[Sequence[bytes]], Callable[[int], object]]]:
    """A connection without a client: gives functions that send one of some commands, and read its answer."""
    where = client.connection_pool.connection_kwargs
    with socket.create_connection((where["host"], where["port"]), timeout=where.get("socket_timeout")) as line:
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        line.sendall(packed(["SELECT", where.get("db", 0)]))
        line.recv(100)

        def over(commands: Sequence[bytes]) -> Callable[[int], object]:
            def exchange(number: Any) -> object:
                line.sendall(commands[number % len(commands)])
                return line.recv(65_536)

            return exchange

        yield over


def _commands(client: redis.Redis, name: str, windows: Sequence[Window]) -> list[bytes]:
    """What the store would send for each of the clients."""
    calls = [
        decide_call(
            [Check("bench", tuple(windows), tuple(f"bench-line:{place}:{{{name}{who:020}}}" for place in range(len(windows))))],
            "hit",
            None,
        )
        for who in range(CLIENTS)
    ]
    client.script_load(calls[0].script.source)
    return [packed(call.by_sha()) for call in calls]
