"""The profile behind the server's CPU time: what each step costs that a script of this kind takes."""

from benchmarks import cpu
from benchmarks.commands import hit
from benchmarks.pipelined import RANDOM
from benchmarks.tables import Section, Timed
from benchmarks.timing import Times, in_turns
from ratewindow.limiter.types import Window
from ratewindow.store import process_clients

CALLS = 10_000
ROUNDS = 5
TIMES_OVER = 10  # a step alone is too short to be weighed
BARE = "the key and the arguments of a decision, unread"
ANSWER = "an answer of four numbers"
ALL = "all of these once, but for SETRANGE"
IN_PLACE = "one writing in place: SETRANGE"
RETURN = "return { 999, 0, 60000, 1732094855123 }"

STEPS = {
    "three numbers out of the arguments": "local a, b, c = '1000' + 0, '60000' + 0, '1000' + 0",
    "the clock: TIME": "redis.call('TIME')",
    "one reading: GET": "redis.call('GET', KEYS[1])",
    "one writing: SET with PX": "redis.call('SET', KEYS[1], '1000 12 28000000 28000', 'PX', '60000')",
    IN_PLACE: "redis.call('SETRANGE', KEYS[1], '0', '1000')",
    "22 bytes read: string.byte": "local a, b, c = string.byte('1000 12 28000000 28000', 1, 22)",
    "22 bytes made: string.char": "local text = string.char(1, 2, 3, 4, 5, 6, 7, 8, 9, 8, 7, 6, 5, 4, 3, 2, 1, 2, 3, 4, 5, 6)",
    "one number as text: string.format": "local text = string.format('%.0f', 1732094855123)",
    "a table of eight fields": "local t = { a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, g = 7, h = 8 }",
    "a function made": "local f = function() return KEYS end",
}


def measure() -> Section:
    client = process_clients.client()
    title = "Steps of a script"
    if not cpu.told(client):
        return Section(title, cpu.UNTOLD)
    scripts = {
        BARE: "return 1 ",
        ANSWER: RETURN,
        ALL: "".join(f"do {step} end\n" for name, step in STEPS.items() if name != IN_PLACE) + RETURN,
    }
    scripts |= {name: f"do {step} end\n" * TIMES_OVER + "return 1" for name, step in STEPS.items()}
    _, _, *question = hit(Window(1000, 60_000), f"bench-step:{RANDOM}")
    measures = {cpu.FLOOR: cpu.floor(client, CALLS)}
    for name, script in scripts.items():
        measures[name] = cpu.taken(client, ["EVALSHA", client.script_load(script), *question], CALLS, 1000)
    times = in_turns(measures, ROUNDS)
    rows = {cpu.FLOOR: times[cpu.FLOOR], BARE: times[BARE]}
    rows |= {f"+ {name}": _added(times[name], times[BARE], TIMES_OVER) for name in STEPS}
    rows |= {f"+ {ANSWER}": _added(times[ANSWER], times[BARE], 1), ALL: times[ALL]}
    return Section(
        title,
        "Where the server's time goes, whatever the algorithm: CPU time of `return 1`, of the same with the key and arguments of "
        "a decision, what each step adds to that, and a script that takes each of them once: less than a decision's, which also "
        "counts.",
        [Timed(name, (), None, each, times[cpu.FLOOR]) for name, each in rows.items()],
    )


def _added(times: Times, bare: Times, count: int) -> Times:
    """What one of `count` equal steps adds, round by round."""
    return Times([(mine - other) / count for mine, other in zip(times.rounds_us, bare.rounds_us, strict=True)])
