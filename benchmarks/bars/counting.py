"""What counting for the reports adds to a decision: outcomes, times, and for whom."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from unittest import mock

from benchmarks.floor import NAME as FLOOR, floor
from benchmarks.site import CLIENTS
from benchmarks.tables import Section, Timed
from benchmarks.timing import Contestant, Times, side_by_side
from ratewindow import conf, hit
from ratewindow.limiter.reply import NO_VERDICT, Answer, Reply
from ratewindow.limiter.types import Check, What, WindowAnswer
from ratewindow.store import stores

AT_MOST = 0.06
RATE = "1000/m"
NAME = "bench.counting"
COUNTED, UNCOUNTED, ADDED = "`hit`, counted", "`hit`, with STATS off", "what counting adds"
BARS = {ADDED: AT_MOST}


class _Stub:
    """A store that admits every request at once."""

    def run(self, checks: Sequence[Check], what: What) -> Reply:
        return [Answer(NO_VERDICT, 0, (WindowAnswer(checks[0].windows[0], 900, 0, 1000, 1),))]


def measure() -> Section:
    before = conf.current()
    with mock.patch.object(stores, "store", _Stub):
        times = side_by_side(
            {
                FLOOR: floor(),
                COUNTED: Contestant(_hit, _clients(replace(before, stats=True))),
                UNCOUNTED: Contestant(_hit, _clients(replace(before, stats=False))),
            },
            calls=CLIENTS,
        )
    conf._held.conf = before
    pairs = zip(times[COUNTED].rounds_us, times[UNCOUNTED].rounds_us, strict=True)
    times[ADDED] = Times([longer - shorter for longer, shorter in pairs])
    return Section(
        "Counting for the reports",
        f"`ratewindow.hit` for {CLIENTS} clients in turn, over a store that answers at once, with statistics and without.",
        [Timed(name, (), BARS.get(name), each, times[FLOOR]) for name, each in times.items()],
        why=(
            f"Why more: {times[ADDED].median_us:.1f} µs are two readings of the clock, a lock, and a few look-ups in dicts: the "
            "minute, the rule, the client, and the span of the time that the store took."
        ),
    )


def _hit(identity: str) -> object:
    return hit(NAME, identity, rate=RATE)


def _clients(settings: conf.Conf) -> Callable[[int], list[str]]:
    def prepare(calls: int) -> list[str]:
        conf._held.conf = settings
        return [f"ip:10.3.0.{number % CLIENTS}" for number in range(calls)]

    return prepare
