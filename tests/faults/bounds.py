"""How long a fault holds up a request, inside the gate, and how soon it is forgotten: beside the same traffic without it."""

import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from statistics import median
from typing import NamedTuple

from tests.faults.catalogue import FAULTS
from tests.faults.ground import Ground
from tests.faults.traffic import Sample, Traffic, breakers

FAILING_MS, OPEN_MS, BACK_S = 150.0, 2.0, 2.0
"""What a fault may add to a request, what it may add once the breaker is open, and when all is as before."""
USUAL, OPEN, AFTER = 150, 150, 50  # requests looked at
TRIES = 3  # where a bound is missed: one pause of a busy machine is enough for that


class Spell(NamedTuple):
    """The requests of one stage of a fault, `on_loop` if they were decided on an event loop."""

    samples: Sequence[Sample]
    on_loop: bool

    @property
    def worst_ms(self) -> float:
        """What the gate took of any of them at most, but for waiting for a processor.

        An event loop may do so for others while a request waits for its answer: then all is counted.
        """
        return max((each.gate_ms - (0.0 if self.on_loop else each.queued_ms) for each in self.samples), default=0.0)

    @property
    def usual_ms(self) -> float:
        return median(each.gate_ms for each in self.samples)


class Bounds(NamedTuple):
    """One fault of one server; what requests met before it, until the breakers were open, and while they were."""

    fault: str
    usual: Spell
    failing: Spell
    open: Spell
    asked: int  # decisions that reached the way to Redis while the breakers were open
    back_s: float
    failed: int  # requests that got another answer than they should
    tries: int = 1

    @property
    def added_ms(self) -> float:
        return self.failing.worst_ms - self.usual.usual_ms

    @property
    def added_open_ms(self) -> float:
        return self.open.worst_ms - self.usual.usual_ms

    @property
    def holds(self) -> bool:
        in_time = self.added_ms <= FAILING_MS and self.added_open_ms <= OPEN_MS and self.back_s <= BACK_S
        return in_time and not self.asked and not self.failed


def measure(site: Ground, names: Sequence[str] = tuple(FAULTS)) -> list[Bounds]:
    """Every fault in turn, under steady traffic on the one server of this site; again where a bound is missed."""
    return [_measured(site, name) for name in names]


def _measured(site: Ground, name: str) -> Bounds:
    for tries in range(1, TRIES + 1):
        told = _measure(site, name, FAULTS[name](site.server, site.proxy))._replace(tries=tries)
        if told.holds or told.failed:  # a request that fails is nobody's bad luck
            break
    return told


def _measure(site: Ground, name: str, fault: AbstractContextManager[None]) -> Bounds:
    (served,) = site.served
    with Traffic(served, ("/many/", "/amany/"), pause_s=0.01) as traffic:
        traffic.wait_for(20)  # connections are made by then
        began_s = time.monotonic()
        traffic.wait_for(USUAL)
        usual = traffic.since(began_s)
        began_s = time.monotonic()
        with fault:
            traffic.until(lambda: breakers(served) == {"open"}, f"{name}: not every worker has noticed")
            traffic.settle()  # who had been let through by then
            open_s, asked = time.monotonic(), site.proxy.states
            traffic.wait_for(OPEN)
            asked = site.proxy.states - asked
            closing_s = time.monotonic()
        healed_s = time.monotonic()
        traffic.until(lambda: breakers(served) == {"closed"}, f"{name}: not every worker has come back")
        traffic.wait_for(AFTER)
    failing = [each for each in traffic.since(began_s) if each.sent_s < open_s]
    meanwhile = [each for each in traffic.since(open_s) if each.answered_s < closing_s]
    special = [each.sent_s for each in traffic.since(began_s) if each.cause]
    failed = sum(each.status != 200 for each in traffic.samples)
    back_s = max([healed_s, *special]) - healed_s
    waits = served.is_asgi  # while open, nobody does
    return Bounds(name, Spell(usual, waits), Spell(failing, waits), Spell(meanwhile, False), asked, back_s, failed)
