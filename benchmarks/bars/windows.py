"""Five windows in one call against one window: the call is what costs, not the windows."""

from collections.abc import Sequence
from typing import Any

from benchmarks import cpu
from benchmarks.floor import NAME as FLOOR, floor
from benchmarks.pipelined import RANDOM
from benchmarks.tables import Section, Timed
from benchmarks.timing import Contestant, in_turns, side_by_side
from ratewindow.limiter import Limiter, RedisStore, Window
from ratewindow.limiter.rates import parse_rates
from ratewindow.limiter.redis.commands import decide_call
from ratewindow.limiter.types import Check
from ratewindow.store import process_clients

AT_MOST = 1.4
FIVE = "100/s; 1000/m; 5000/10m; 20000/h; 100000/d"
ONE, SEVERAL = "one window", "five windows"
CALLS, CLIENTS = 10_000, 500
LEAST = """
local reply = {}
for i = 1, #KEYS do
  redis.call('GET', KEYS[i])
  redis.call('SETRANGE', KEYS[i], '0', '1234')
  for n = 4 * i - 3, 4 * i do reply[n] = 60000 end
end
return reply
"""


def measure() -> Section:
    limiter = Limiter(RedisStore(process_clients.client()), prefix="bench")
    one, five = parse_rates("1000/m"), parse_rates(FIVE)
    times = side_by_side(
        {
            ONE: Contestant(lambda number: limiter.hit(f"one:{number}", one)),
            SEVERAL: Contestant(lambda number: limiter.hit(f"five:{number}", five)),
            FLOOR: floor(),
        },
        calls=100,
    )
    return Section(
        "Five windows in one call",
        f"`Limiter.hit` with {FIVE}. Ratios are to one window.",
        [Timed(name, (), AT_MOST if name == SEVERAL else None, each, times[ONE]) for name, each in times.items()],
        why=_why(times[SEVERAL].median_us - times[ONE].median_us, times[SEVERAL].ratio(times[FLOOR]), one, five),
    )


def _why(more_us: float, of_floor: float, one: Sequence[Window], five: Sequence[Window]) -> str:
    client = process_clients.client()
    if not cpu.told(client):
        return f"Five windows take {of_floor:.2f} times what redis-py takes for a call that does nothing."
    calls = {words: _calls(windows) for words, windows in ((ONE, one), (SEVERAL, five))}
    measures = {}
    for name, (ours, least) in calls.items():
        measures[name] = cpu.taken(client, ours, CALLS, CLIENTS)
        measures[f"{name}, least"] = cpu.taken(client, least, CALLS, CLIENTS)
    us = {name: each.median_us for name, each in in_turns(measures, 3).items()}
    return (
        f"Why more: four more windows take {more_us:.0f} µs, of which {us[SEVERAL] - us[ONE]:.0f} are the server's CPU time. "
        f"{us[f'{SEVERAL}, least'] - us[f'{ONE}, least']:.0f} of these are needed to read, write and answer as much without "
        f"deciding. Five windows take {of_floor:.2f} times what redis-py takes for a call that does nothing."
    )


def _calls(windows: Sequence[Window]) -> tuple[list[str | int], list[str | int]]:
    """The decision on a random client, and what reads, writes and answers as much without deciding."""
    client = process_clients.client()
    ours, least = (decide_call([_check(windows, f"{{{who}{RANDOM}}}")], "hit", None) for who in ("", "least:"))
    client.script_load(ours.script.source)
    sha: Any = client.script_load(LEAST)
    return ours.by_sha(), ["EVALSHA", sha, *least.words]


def _check(windows: Sequence[Window], who: str) -> Check:
    return Check("bench", tuple(windows), tuple(f"bench-{len(windows)}:{place}:{who}" for place in range(len(windows))))
