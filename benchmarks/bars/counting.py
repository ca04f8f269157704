"""What counting for the reports adds to a decision: outcomes, times, and for whom; and what recording a rule adds to that."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from types import MappingProxyType
from unittest import mock

from benchmarks.floor import NAME as FLOOR
from benchmarks.floor import floor
from benchmarks.site import CLIENTS
from benchmarks.tables import Section, Timed
from benchmarks.timing import Contestant, Times, side_by_side
from ratewindow import conf, hit
from ratewindow.limiter.rates import parse_rates
from ratewindow.limiter.reply import NO_VERDICT, Answer, Reply
from ratewindow.limiter.types import Check, What, WindowAnswer
from ratewindow.rulebook import recordings
from ratewindow.rulebook.recordings import Recorded
from ratewindow.store import stores

AT_MOST, RECORDING_AT_MOST = 0.06, 0.03
RATE = "1000/m"
NAME = "bench.counting"
COUNTED, UNCOUNTED, ADDED = "`hit`, counted", "`hit`, with STATS off", "what counting adds"
RECORDED, ADDED_BY_RECORDING = "`hit`, counted and recorded", "what recording adds"
BARS = {ADDED: AT_MOST, ADDED_BY_RECORDING: RECORDING_AT_MOST}


class _Stub:
    """A store that admits every request at once."""

    def run(self, checks: Sequence[Check], what: What) -> Reply:
        return [Answer(NO_VERDICT, 0, (WindowAnswer(checks[0].windows[0], 900, 0, 1000, 1),))]


def measure() -> Section:
    before, (window,) = conf.current(), parse_rates(RATE)
    recorded = {NAME: Recorded(1, window.tag, float("inf"))}
    with mock.patch.object(stores, "store", _Stub):
        times = side_by_side(
            {
                FLOOR: floor(),
                COUNTED: Contestant(_hit, _clients(replace(before, stats=True))),
                RECORDED: Contestant(_hit, _clients(replace(before, stats=True), recorded)),
                UNCOUNTED: Contestant(_hit, _clients(replace(before, stats=False))),
            },
            calls=CLIENTS,
        )
    conf._held.conf, recordings.held = before, {}
    for name, more, less in ((ADDED, COUNTED, UNCOUNTED), (ADDED_BY_RECORDING, RECORDED, COUNTED)):
        pairs = zip(times[more].rounds_us, times[less].rounds_us, strict=True)
        times[name] = Times([longer - shorter for longer, shorter in pairs])
    return Section(
        "Counting for the reports",
        f"`ratewindow.hit` for {CLIENTS} clients in turn, over a store that answers at once, with statistics and without, and "
        "with the peaks of its clients recorded. Sending them, once a second in a thread, is not part of it.",
        [Timed(name, (), BARS.get(name), each, times[FLOOR]) for name, each in times.items()],
        why=(
            f"Why more: {times[ADDED].median_us:.1f} µs are two readings of the clock, a lock, and a few look-ups in dicts: the "
            "minute, the rule, the client, and the span of the time that the store took. A rule that is not recorded pays one "
            "look-up in a module for that."
        ),
    )


def _hit(identity: str) -> object:
    return hit(NAME, identity, rate=RATE)


def _clients(settings: conf.Conf, recorded: recordings.Held = MappingProxyType({})) -> Callable[[int], list[str]]:
    def prepare(calls: int) -> list[str]:
        conf._held.conf, recordings.held = settings, recorded
        return [f"ip:10.3.0.{number % CLIENTS}" for number in range(calls)]

    return prepare
