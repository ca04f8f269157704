"""Five windows in one call against one window: the call is what costs, not the windows."""

from collections.abc import Sequence

import redis

from benchmarks import cpu
from benchmarks.tables import Section, Timed
from benchmarks.timing import Contestant, in_turns, side_by_side
from ratewindow import connection
from ratewindow.limiter import Limiter, RedisStore, Window
from ratewindow.limiter.rates import parse_rates
from ratewindow.limiter.types import Check
from ratewindow.limiter.wire import decide_call, packed_decide

AT_MOST = 1.4
FIVE = "100/s; 1000/m; 5000/10m; 20000/h; 100000/d"


def measure() -> Section:
    limiter = Limiter(RedisStore(connection.client()), prefix="bench")
    one, five = parse_rates("1000/m"), parse_rates(FIVE)
    times = side_by_side(
        {
            "one window": Contestant(lambda number: limiter.hit(f"one:{number}", one)),
            "five windows": Contestant(lambda number: limiter.hit(f"five:{number}", five)),
        },
        calls=100,
    )
    command_us, server_us = _command_us(five) - _command_us(one), _server_us(five) - _server_us(one)
    first, five_times = times["one window"], times["five windows"]
    return Section(
        "Five windows in one call",
        f"`Limiter.hit` with {FIVE}, against one window; the ratio is to one window.",
        [Timed("one window", (), None, first, first), Timed("five windows", (), AT_MOST, five_times, first)],
        why=(
            f"Why more: of the {five_times.median_us - first.median_us:.0f} µs that four more windows take, "
            f"{server_us:.0f} are the server's, for four more keys to read and to write, and {command_us:.0f} go into making the "
            "command; the rest is five answers instead of one, on the line, parsed, and made into a `Decision`."
        ),
    )


def _command_us(windows: Sequence[Window]) -> float:
    """To make the command, as the store does."""
    checks, wire = [_check(windows, "ip:10.1.0.1")], redis.Connection()  # never connected

    def make(_: int) -> object:
        return packed_decide(checks, "hit", None) or wire.pack_command(*decide_call(checks, "hit", None).by_sha())

    return side_by_side({"": Contestant(make)}, rounds=20)[""].median_us


def _server_us(windows: Sequence[Window]) -> float:
    client = connection.client()
    call = decide_call([_check(windows, "ip:10.1.0.2")], "hit", None)
    client.script_load(call.script.source)
    return in_turns({"": cpu.taken(client, call.by_sha(), 10_000)}, 3)[""].median_us if cpu.told(client) else 0.0


def _check(windows: Sequence[Window], who: str) -> Check:
    return Check("bench", tuple(windows), tuple(f"bench-{len(windows)}:{place}:{who}" for place in range(len(windows))))
