"""What others keep in Redis beside what we keep: time on the server, and memory."""

from typing import Any

import redis

from benchmarks import cpu
from benchmarks.commands import send
from benchmarks.pipelined import RANDOM
from benchmarks.plots import Picture, bars
from benchmarks.structures import OURS, PERIOD_MS, Structure, structures
from benchmarks.tables import Row, Section
from benchmarks.timing import in_turns
from ratewindow.store import process_clients
from tests.support.clock import START_MS

CALLS = 10_000
ROUNDS = 4
CLIENTS = 500
LIMITS = (100, 5000)
WEIGH = """
local most = 0
for _, key in ipairs(redis.call('KEYS', '*')) do
  most = math.max(most, redis.call('MEMORY', 'USAGE', key, 'SAMPLES', '0') - #key)
end
return most
"""
COLUMNS = ("", "admitted, µs", "refused, µs", *(f"bytes at {limit:,} a minute" for limit in LIMITS))


def measure() -> Section:
    client = process_clients.client()
    title = "What others keep in Redis: cost"
    if not cpu.told(client):
        return Section(title, cpu.UNTOLD)
    admitted, refused = structures(client, 10_000), structures(client, LIMITS[0])
    sizes = {limit: {name: _bytes(client, each, limit) for name, each in structures(client, limit).items()} for limit in LIMITS}
    measures = {}
    for number, name in enumerate(admitted):
        full = refused[name].words(f"full{number}", None)
        send(client, [full] * LIMITS[0])
        measures[f"{name}, admitted"] = cpu.taken(client, admitted[name].words(f"bench{number}:{RANDOM}", None), CALLS, CLIENTS)
        measures[f"{name}, refused"] = cpu.taken(client, full, CALLS)
    us = {name: times.median_us for name, times in in_turns(measures, ROUNDS).items()}
    rows = [
        Row(
            name,
            (*(f"{us[f'{name}, {what}']:.1f}" for what in ("admitted", "refused")), *(f"{sizes[n][name]:,.0f}" for n in LIMITS)),
        )
        for name in admitted
    ]
    panels = {
        "server CPU, µs a decision": {name: us[f"{name}, admitted"] for name in admitted},
        f"bytes a client at {LIMITS[-1]:,} a minute": sizes[LIMITS[-1]],
    }
    return Section(
        title,
        "The structures of other limiters, corrected (atomic, refused requests not recorded, an expiry with every write). Bytes "
        "are those of a client that has used its limit, beyond the key's name. Theirs answer yes or no for one window; ours "
        "decides any number of rules, and answers what remains, how long to wait, and what to refund.",
        rows,
        COLUMNS,
        picture=Picture("structures", "Server time and memory of each structure", bars(panels, OURS), (9, 4)),
    )


def _bytes(client: redis.Redis, structure: Structure, limit: int) -> float:
    """Of a client whose limit is used up, evenly over the period; beyond the name of its key."""
    client.flushdb()
    *others, last = (structure.words("client", START_MS + number * PERIOD_MS // limit) for number in range(limit))
    send(client, others)
    # At once with the last request: a bucket that leaks five thousand a minute is empty, and gone, milliseconds later.
    with client.pipeline(transaction=True) as pipe:
        pipe.execute_command(*last)
        pipe.eval(WEIGH, 0)
        told: list[Any] = pipe.execute()
    return float(told[1])
