"""Timing side by side: everybody's turn in every round, so that a slow moment of the machine hits all alike."""

import statistics
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any


@dataclass(frozen=True)
class Contestant:
    """What is timed: `call`, once for each of the arguments that `prepare` has made before the clock starts."""

    call: Callable[[Any], object]
    prepare: Callable[[int], Iterable[Any]] = range


@dataclass(frozen=True)
class Times:
    """Microseconds for one call, one number a round."""

    rounds_us: Sequence[float]

    @property
    def median_us(self) -> float:
        return statistics.median(self.rounds_us)

    def ratio(self, floor: "Times") -> float:
        """How many times the floor: the median of each round against the floor's turn in the same round."""
        return statistics.median(mine / other for mine, other in zip(self.rounds_us, floor.rounds_us, strict=True))


def side_by_side(contestants: Mapping[str, Contestant], rounds: int = 60, calls: int = 40) -> dict[str, Times]:
    """Time all in turns, by the clock on the wall."""
    return in_turns({name: partial(turn_us, contestant, calls) for name, contestant in contestants.items()}, rounds)


def in_turns(measures: Mapping[str, Callable[[], float]], rounds: int) -> dict[str, Times]:
    """Measure all in turns: A B C, B C A, C A B ... A first round, which fills caches and connections, is not counted.

    Each of `measures` takes its turn and says how many microseconds one call took.
    """
    taken: dict[str, list[float]] = {name: [] for name in measures}
    names = list(measures)
    for number in range(rounds + 1):
        for name in names:
            us = measures[name]()
            if number:
                taken[name].append(us)
        names.append(names.pop(0))
    return {name: Times(numbers) for name, numbers in taken.items()}


def turn_us(contestant: Contestant, calls: int) -> float:
    """Microseconds of one call, by a turn of so many."""
    call, arguments = contestant.call, list(contestant.prepare(calls))
    started_ns = time.perf_counter_ns()
    for argument in arguments:
        call(argument)
    return (time.perf_counter_ns() - started_ns) / calls / 1000
